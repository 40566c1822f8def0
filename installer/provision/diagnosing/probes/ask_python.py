"""Runs inside any environment, on any Python from 3.6 on: says where this Python looks, imports what it is told
to, and asks the frameworks what they see. Imports nothing of provision; writes nothing but its report on stdout.

    python -B ask_python.py self
    python -B ask_python.py import numpy torch torchvision
"""

import json
import os
import platform
import site
import sys
import time
import traceback

MARK = "@provision "
_ARCHES = {"amd64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64"}
_SYSTEMS = {"Windows": "windows", "Linux": "linux", "Darwin": "macos"}


def say(event: str, **facts: object) -> None:
    """One line of the report; the stream is flushed so that a crash loses nothing that was said."""
    sys.__stdout__.write(MARK + json.dumps(dict(facts, event=event)) + "\n")
    sys.__stdout__.flush()


def about_python() -> None:
    machine = platform.machine()
    system = _SYSTEMS.get(platform.system(), platform.system().lower())
    say(
        "python",
        version=platform.python_version(),
        implementation=sys.implementation.name,
        prefix=sys.prefix,
        base=sys.base_prefix,
        executable=sys.executable,
        target="%s-%s" % (system, _ARCHES.get(machine.lower(), machine.lower())),
        path=[os.path.abspath(p) for p in sys.path if p],
        user_site=site.getusersitepackages() if site.ENABLE_USER_SITE else "",
        isolated=bool(sys.flags.no_user_site),
    )


def import_one(name: str) -> object:
    """Import a module and say how that went; None if it failed."""
    began = time.time()
    try:
        module = __import__(name)
    except BaseException as error:
        say(
            "import-failed",
            module=name,
            error="%s: %s" % (type(error).__name__, error),
            traceback=traceback.format_exc()[-20000:],
        )
        return None
    place = getattr(module, "__file__", None)
    say(
        "imported",
        module=name,
        version=str(getattr(module, "__version__", "")),
        file=place or "",
        folders=[str(p) for p in getattr(module, "__path__", [])] if not place else [],
        seconds=round(time.time() - began, 3),
    )
    return module


def about_torch(torch: object) -> None:
    facts = {"module": "torch", "cuda": _version(torch, "cuda"), "hip": _version(torch, "hip")}
    cuda = getattr(torch, "cuda", None)
    for key, ask in (
        ("available", lambda: bool(cuda.is_available())),
        ("count", lambda: int(cuda.device_count())),
        ("architectures", lambda: list(cuda.get_arch_list())),
        ("names", lambda: [cuda.get_device_name(i) for i in range(cuda.device_count())]),
        ("capabilities", lambda: ["%d.%d" % cuda.get_device_capability(i) for i in range(cuda.device_count())]),
        ("cudnn", lambda: torch.backends.cudnn.version()),
        ("mps", lambda: bool(torch.backends.mps.is_available())),
        ("xpu", lambda: bool(torch.xpu.is_available())),
        ("npu", lambda: bool(torch.npu.is_available())),
        ("mlu", lambda: bool(torch.mlu.is_available())),
        ("musa", lambda: bool(torch.musa.is_available())),
    ):
        try:
            facts[key] = ask()
        except AttributeError:
            continue
        except Exception as error:
            facts[key + "_error"] = "%s: %s" % (type(error).__name__, error)
    try:
        if cuda is not None and facts.get("cuda") and not facts.get("available"):
            cuda.init()
    except Exception as error:
        facts["init_error"] = "%s: %s" % (type(error).__name__, error)
    say("framework", **facts)


def _version(torch: object, name: str) -> str:
    return str(getattr(getattr(torch, "version", None), name, None) or "")


def about_tensorflow(tf: object) -> None:
    facts = {"module": "tensorflow"}
    try:
        facts["build"] = {k: str(v) for k, v in dict(tf.sysconfig.get_build_info()).items()}
    except Exception:
        facts["build"] = {}
    for key, ask in (
        ("built_with_cuda", lambda: bool(tf.test.is_built_with_cuda())),
        ("devices", lambda: [[d.device_type, d.name] for d in tf.config.list_physical_devices()]),
    ):
        try:
            facts[key] = ask()
        except Exception as error:
            facts[key + "_error"] = "%s: %s" % (type(error).__name__, error)
    say("framework", **facts)


ASK = {"torch": about_torch, "tensorflow": about_tensorflow}


def leave_no_trace() -> None:
    """Keras writes a configuration into a home that has none yet; then it is shown one that cannot be."""
    if "KERAS_HOME" not in os.environ and not os.path.isdir(os.path.expanduser(os.path.join("~", ".keras"))):
        os.environ["KERAS_HOME"] = os.path.join(os.devnull, "keras")
    sys.dont_write_bytecode = True


def main() -> None:
    sys.path[0] = ""  # Look where a script of the user's in this folder would look.
    about_python()
    if sys.argv[1] == "import":
        leave_no_trace()
        for name in sys.argv[2:]:
            module = import_one(name)
            if module is not None and name in ASK:
                ASK[name](module)
    say("end")


main()
