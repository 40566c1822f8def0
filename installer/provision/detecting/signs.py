"""Is there any sign of an accelerator, or of libraries and SDKs for one?

The knowledge of devices costs more to read than all other probes together; a machine without any sign of them
(most CI machines and login nodes) is spared it.
"""

from __future__ import annotations

import re

from provision.detecting.pci import Function
from provision.ports import Host, Reader

#: PCI base classes: display, processing accelerator, co-processor.
_CLASSES = ("03", "12", "0b40")
#: WSL's bridge to the Windows driver; a device tree (Jetson); CUDA toolkits.
_PATHS = ("/dev/dxg", "/proc/device-tree/compatible")
_TOOLKITS = "/usr/local/cuda*"
#: Variables that choose devices, lead to libraries, or that an SDK's script has set.
_VARIABLES = re.compile(
    r"VISIBLE_DEVICES|^CUDA_|^ASCEND_|^(?:LD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_PREFIX)$|_HOME$"
)


def any_sign(reader: Reader, host: Host, functions: tuple[Function, ...] | None) -> bool:
    """Worth a look? Always where the PCI bus cannot be seen, and on Windows."""
    if host.os != "linux" or functions is None:
        return True
    return (
        any(function.kind.startswith(_CLASSES) for function in functions)
        or any(reader.exists(path) for path in _PATHS)
        or any(_VARIABLES.search(name) for name in reader.environ())
        or reader.which("nvcc") is not None
        or bool(reader.glob(_TOOLKITS))
    )
