"""Smoke job for PyTorch 1.8 and later: import, device, product with gradient, training, agreement with the CPU."""

import sys
import time

import _images
import _report

STEPS = 40
BATCH = 32
FRAMEWORK = "torch"

#: Device word -> (modules that add the device, type of torch.device, name of the module with its functions).
#: A module that is only needed by older versions stands behind a question mark.
BACKENDS = {
    "cpu": ((), "cpu", None),
    "cuda": ((), "cuda", "cuda"),
    "rocm": ((), "cuda", "cuda"),
    "xpu": (("?intel_extension_for_pytorch",), "xpu", "xpu"),
    "npu": (("torch_npu",), "npu", "npu"),
    "mlu": (("torch_mlu",), "mlu", "mlu"),
    "musa": (("torch_musa",), "musa", "musa"),
    "supa": (("torch_supa",), "supa", "supa"),
    "mps": ((), "mps", "mps"),
    "directml": (("torch_directml",), "privateuseone", None),
}


def load(report):
    """Import torch and say which build it is."""
    report.begin("import")
    started = time.time()
    torch = _report.import_module(report, "torch")
    report.emit(
        "imported", version=str(torch.__version__), seconds=round(time.time() - started, 3),
        build={"cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)},
    )
    return torch


class Device(object):
    """The device of this run: `place` is what `.to()` takes, `kind` the word that was asked for.

    Where the device is not to be had, `place` is the CPU and `problem` says why: the job goes on, so that the judge
    learns whether the software half works.
    """

    def __init__(self, torch, kind):
        self.torch = torch
        self.kind = kind
        self.place = torch.device("cpu")
        self.api = None
        self.problem = ""
        self.names = []

    @property
    def is_cpu(self):
        return self.place.type == "cpu"

    def synchronize(self):
        if not self.is_cpu and hasattr(self.api, "synchronize"):
            self.api.synchronize()

    def memory(self):
        """Largest number of bytes that torch held on the device, None where it does not say."""
        if self.is_cpu or not hasattr(self.api, "max_memory_allocated"):
            return None
        return int(self.api.max_memory_allocated())

    def release(self):
        if not self.is_cpu and hasattr(self.api, "empty_cache"):
            self.api.empty_cache()


def open_device(report, torch, kind):
    """Find the device and report all of its sort."""
    report.begin("device")
    device = Device(torch, kind)
    if kind == "cpu":
        device.names = ["CPU"]
    elif kind == "directml":
        _open_directml(report, device)
    else:
        _open_backend(report, device)
    report.emit("devices", devices=device.names, problem=device.problem, threads=torch.get_num_threads())
    return device


def _open_directml(report, device):
    api = _report.import_module(report, "torch_directml")
    count = int(api.device_count()) if api.is_available() else 0
    device.names = [str(api.device_name(index)) for index in range(count)]
    if count:
        device.api, device.place = api, api.device(0)
    else:
        device.problem = "torch_directml finds no DirectX 12 adapter"


def _open_backend(report, device):
    modules, kind, name = BACKENDS[device.kind]
    for module in modules:
        _load_plugin(report, device.torch, module, name)
    api = _backend_api(device.torch, name)
    if api is None:
        device.problem = "this torch has no torch.%s" % name
        return
    if not api.is_available():
        device.problem = _why_not(device.torch, device.kind, api)
        return
    device.api = getattr(device.torch, name, api)
    device.place = device.torch.device(kind, 0)
    device.names = _names(report, device)


def _load_plugin(report, torch, module, name):
    if not module.startswith("?"):
        _report.import_module(report, module)
    elif not hasattr(torch, name):
        _report.attempt(report, module[1:], __import__, module[1:])


def _backend_api(torch, name):
    if name == "mps":
        return getattr(torch.backends, "mps", None)
    return getattr(torch, name, None)


def _why_not(torch, kind, api):
    if kind in ("cuda", "rocm") and not torch.version.cuda and not getattr(torch.version, "hip", None):
        return "torch %s is a CPU build" % torch.__version__
    if kind in ("cuda", "rocm"):
        try:
            api.init()
        except Exception as error:
            return _report.describe(error)
    return "torch.%s.is_available() is False" % BACKENDS[kind][2]


def _names(report, device):
    api = device.api
    count = _report.attempt(report, "device_count", api.device_count) if hasattr(api, "device_count") else 1
    names = []
    for index in range(count or 1):
        name = None
        if hasattr(api, "get_device_name"):
            name = _report.attempt(report, "get_device_name", api.get_device_name, index)
        names.append(str(name or "%s:%d" % (device.place.type, index)))
    return names


def capability(report, device):
    if hasattr(device.api, "get_device_capability"):
        found = _report.attempt(report, "get_device_capability", device.api.get_device_capability, 0)
        return ".".join(str(part) for part in found) if isinstance(found, (tuple, list)) else found
    return None


def multiply(report, torch, device):
    """A matrix product and its gradient on the device, held against plain Python; returns where it was made."""
    report.begin("matmul")
    left, right = _images.matrix(32, 1), _images.matrix(32, 2)
    ones = [[1.0] * 32 for _ in range(32)]
    first = torch.tensor(left).to(device.place).requires_grad_(True)
    second = torch.tensor(right).to(device.place)
    result = torch.matmul(first, second)
    result.sum().backward()
    wide = torch.ones(512, 512).to(device.place)
    report.emit(
        "matmul", device=str(result.device), gradient_device=str(first.grad.device),
        difference=_images.difference(result.detach().cpu().tolist(), _images.product(left, right)),
        gradient_difference=_images.difference(
            first.grad.cpu().tolist(), _images.product(ones, [list(row) for row in zip(*right)])
        ),
        wide_difference=float((torch.matmul(wide, wide) - 512).abs().max()) / 512,
    )
    return str(result.device)


def numpy_bridge(report, torch):
    """Tensors and arrays: torch works without numpy, and with a numpy of the wrong ABI it half works."""
    try:
        import numpy
    except ImportError:
        report.emit("numpy", version=None, bridge=None)
        return
    try:
        value = float(torch.from_numpy(numpy.arange(4.0)).numpy().sum())
        report.emit("numpy", version=numpy.__version__, bridge=value == 6.0)
    except Exception as error:
        report.emit("numpy", version=numpy.__version__, bridge=False, error=_report.describe(error))


def network(torch, dropout=0.2):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(_images.CHANNELS, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(32, _images.CLASSES),
    )


def dataset(torch, count, seed):
    """A Dataset that turns bytes into normalised pictures, as training code does."""
    pixels, labels = _images.pictures(count, seed)
    shape = (count, _images.SIDE, _images.SIDE, _images.CHANNELS)
    raw = torch.tensor(list(pixels), dtype=torch.uint8).reshape(shape).permute(0, 3, 1, 2).contiguous()
    targets = torch.tensor(labels)

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return count

        def __getitem__(self, index):
            return raw[index].float() / 255.0 - 0.5, targets[index]

    return Pictures()


def loader(torch, data, batch, shuffle=True, pin=False):
    generator = torch.Generator()
    generator.manual_seed(_report.SEED)
    return torch.utils.data.DataLoader(
        data, batch_size=batch, shuffle=shuffle, generator=generator, drop_last=shuffle, pin_memory=pin
    )


def endless(batches):
    while True:
        for batch in batches:
            yield batch


def train(report, torch, device, steps=STEPS):
    """Train the small network; returns it with the losses by step."""
    report.begin("train")
    if device.is_cpu:
        torch.set_num_threads(1)  # so small a network only loses by more, and by far on a busy machine
    torch.manual_seed(_report.SEED)
    model = network(torch).to(device.place)
    batches = loader(torch, dataset(torch, 256, 1), BATCH, pin=device.place.type == "cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model.train()
    losses = []
    started = time.time()
    for step, (images, labels) in zip(range(1, steps + 1), endless(batches)):
        loss, logits = learn(torch, model, optimizer, images.to(device.place), labels.to(device.place))
        losses.append(float(loss))
        report.emit("step", step=step, loss=losses[-1])
    device.synchronize()
    seconds = time.time() - started
    report.emit(
        "device", demanded=device.kind, used=str(logits.device), loss_device=str(loss.device),
        variables=sorted({str(parameter.device) for parameter in model.parameters()}),
        gradients=sorted({str(parameter.grad.device) for parameter in model.parameters()}),
        name=device.names[0] if device.names else "CPU", capability=capability(report, device),
        memory=_report.attempt(report, "memory", device.memory), problem=device.problem,
    )
    return model, losses, seconds


def learn(torch, model, optimizer, images, labels):
    optimizer.zero_grad()
    logits = model(images)
    loss = torch.nn.functional.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
    return loss.detach(), logits.detach()


def accuracy(torch, model, device):
    """Share of right answers on pictures that were not trained on."""
    model.eval()
    right = total = 0
    with torch.no_grad():
        for images, labels in loader(torch, dataset(torch, 128, 2), 64, shuffle=False):
            answers = model(images.to(device.place)).cpu().argmax(1)
            right += int((answers == labels).sum())
            total += len(labels)
    model.train()
    return right / total


def agreement(report, torch, device, steps=5):
    """The same steps from the same weights on the device and on the CPU, without dropout: largest difference."""
    report.begin("agreement")
    torch.manual_seed(_report.SEED)
    start = network(torch, dropout=0.0).state_dict()
    ours = follow(torch, start, device.place, steps)
    theirs = follow(torch, start, torch.device("cpu"), steps)
    found = max(
        _images.difference([mine], [other]) for mine, other in zip(ours["losses"], theirs["losses"])
    )
    report.emit(
        "agreement", steps=steps, difference=found, losses=ours["losses"], cpu_losses=theirs["losses"],
        logits_difference=_images.difference(ours["logits"], theirs["logits"]),
    )
    return found


def follow(torch, weights, place, steps):
    model = network(torch, dropout=0.0)
    model.load_state_dict(weights)
    model = model.to(place)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _, (images, labels) in zip(range(steps), loader(torch, dataset(torch, 160, 3), BATCH, shuffle=False)):
        loss, logits = learn(torch, model, optimizer, images.to(place), labels.to(place))
        losses.append(float(loss))
    return {"losses": losses, "logits": logits.cpu().tolist()}


def prove(report, torch, device, steps=STEPS):
    """The train level: the facts that the judge needs, ending with the result."""
    model, losses, seconds = train(report, torch, device, steps)
    found = accuracy(torch, model, device)
    gap = None if device.is_cpu else agreement(report, torch, device)
    report.emit(
        "result", losses=losses, accuracy=found, chance=_images.CHANCE, cpu_difference=gap,
        seconds=round(seconds, 3), images_per_second=round(len(losses) * BATCH / max(seconds, 1e-9), 1),
    )
    return model


def run(report, chosen):
    report = report.bind(framework=FRAMEWORK)
    torch = load(report)
    device = open_device(report, torch, chosen.device)
    used = multiply(report, torch, device)
    numpy_bridge(report, torch)
    if chosen.level == "quick":
        report.emit("device", demanded=device.kind, used=used, problem=device.problem,
                    name=device.names[0] if device.names else "CPU")
        report.emit("result")
        return
    model = prove(report, torch, device)
    if chosen.level == "full":
        import _torch_full

        _torch_full.run(report, torch, device, model, sys.modules[__name__])


if __name__ == "__main__":
    _report.finish(_report.main("torch", run))
