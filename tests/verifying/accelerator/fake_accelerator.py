"""An accelerator for torch that is none: tensors say that they are on it, and their numbers lie on the CPU.

It takes PrivateUse1, the place that torch keeps for backends from outside (torch_npu, torch_mlu, torch_musa take it
too), under a name of one's choice, and answers every operator by doing it on the CPU. Needs torch 2.10 or later.
"""

import os

import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

#: The address of a tensor's (empty) storage -> its numbers on the CPU. torch makes copies of a tensor that share its
#: storage and nothing else, for instance to keep it for the way back.
NUMBERS = {}


class Tensor(torch.Tensor):
    """A class of its own, so that torch makes parameters of such tensors without a copy."""

    __torch_function__ = torch._C._disabled_torch_function_impl


def wrap(value):
    """A tensor of the device for one of the CPU."""
    if not isinstance(value, torch.Tensor) or value.device.type != "cpu":
        return value
    made = torch._C._acc.create_empty_tensor(value.shape, value.dtype)
    made.__class__ = Tensor
    NUMBERS[made.untyped_storage()._cdata] = value
    return made


def numbers(value):
    """The CPU's tensor for one of the device; the CPU for the device itself."""
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return NUMBERS[value.untyped_storage()._cdata]
    return torch.device("cpu") if isinstance(value, torch.device) else value


class Module:
    """What becomes torch.npu, torch.mlu, ..."""

    @staticmethod
    def is_available():
        return not os.environ.get("FAKE_ABSENT")

    @staticmethod
    def device_count():
        return 1

    @staticmethod
    def current_device():
        return 0

    @staticmethod
    def get_device_name(index=0):
        return "Fake accelerator"

    @staticmethod
    def synchronize(device=None):
        pass

    @staticmethod
    def empty_cache():
        pass

    @staticmethod
    def max_memory_allocated(device=None):
        return 1 << 20

    @staticmethod
    def get_amp_supported_dtype():
        return [torch.float16, torch.bfloat16]

    @staticmethod
    def _is_in_bad_fork():
        return False

    @staticmethod
    def manual_seed_all(seed):
        torch.default_generator.manual_seed(seed)


def fallback(op, *args, **kwargs):
    """Any operator: on the CPU, its results wrapped. What it changed in place stays the tensor that it was."""
    taken = {}

    def take(value):
        bare = numbers(value)
        if bare is not value and isinstance(value, torch.Tensor):
            taken[id(bare)] = value
        return bare

    made = op(*tree_map(take, args), **tree_map(take, kwargs))
    return tree_map(lambda one: taken[id(one)] if id(one) in taken else wrap(one), made)


def copy_from(source, destination, non_blocking=False):
    numbers(destination).copy_(numbers(source))
    return destination


def empty(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return wrap(torch.empty(size, dtype=dtype))


def empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    return wrap(torch.empty(size, dtype=dtype))


def alias(value):
    return wrap(numbers(value))


def as_strided(value, size, stride, offset=None):
    """Strides come from the tensor outside, which knows no others than those of rows in order."""
    return wrap(numbers(value).contiguous().as_strided(size, stride, offset))


def convolution(*args):
    return fallback(torch.ops.aten.convolution, *args)


def convolution_backward(gradient, source, weight, *args):
    return fallback(torch.ops.aten.convolution_backward, gradient, source, weight, [weight.shape[0]], *args)


#: What torch would do by itself for every backend, leaving the numbers behind.
OWN = {
    "empty.memory_format": empty,
    "empty_strided": empty_strided,
    "_copy_from": copy_from,
    "alias": alias,
    "detach": alias,
    "as_strided": as_strided,
    "convolution_overrideable": convolution,
    "convolution_backward_overrideable": convolution_backward,
}
_kept = []


def register(name):
    _setup_privateuseone_for_python_backend(name, Module())
    everything = torch.library.Library("_", "IMPL")
    everything.fallback(fallback, "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    for operator, function in OWN.items():
        aten.impl(operator, function, "PrivateUse1")
    _kept.extend((everything, aten))
    if os.environ.get("FAKE_SILENT"):
        stay_on_the_cpu(name)


def stay_on_the_cpu(name):
    """The worst that a backend can do: it says yes to all, and works on the CPU."""
    to = torch.Tensor.to
    torch.Tensor.to = lambda self, *args, **kwargs: (
        self if name in str(args) + str(kwargs) else to(self, *args, **kwargs)
    )
    torch.nn.Module.to = lambda self, *args, **kwargs: self
