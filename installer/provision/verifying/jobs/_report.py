"""What all smoke jobs share: the command line, the report file and the end of the process.

These scripts run inside the provisioned environment, on Python 3.6 to 3.14, with nothing but the standard library and
the framework under test. They state facts, one JSON object a line, and never judge: the judge sits outside.
"""

import argparse
import faulthandler
import json
import math
import os
import platform
import signal
import sys
import time
import traceback

DEVICES = ("cpu", "cuda", "directml", "rocm", "xpu", "npu", "mlu", "musa", "supa", "mps")
LEVELS = ("quick", "train", "full")
SEED = 7


def plain(value):
    """A value that strict JSON can hold: numbers that are not finite become the words nan, inf, -inf."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


class Report(object):
    """Appends events to the report file; each line is flushed, so that a crash loses nothing that was said."""

    def __init__(self, path, common=None, started=None):
        self.path = path
        self.common = dict(common or {})
        self.started = started if started is not None else time.time()
        self.stage = "start"

    def emit(self, event, **facts):
        line = {"event": event, "at": round(time.time() - self.started, 3)}
        line.update(self.common)
        line.update(facts)
        text = json.dumps(plain(line), ensure_ascii=True)
        if self.path is None:
            print(text, flush=True)
            return
        with open(self.path, "a", encoding="utf-8") as stream:
            stream.write(text + "\n")

    def bind(self, **common):
        """The same file, with more words on every line."""
        return Report(self.path, dict(self.common, **common), self.started)

    def begin(self, stage):
        """Name what comes next; a report that ends here tells where the process died."""
        self.stage = stage
        self.emit("stage", stage=stage)


class ImportFailed(Exception):
    """The import of a framework failed, and the report already says why."""


def import_module(report, name):
    """Import a module by name; on failure say why in the report and raise ImportFailed."""
    import importlib

    report.emit("importing", module=name)
    try:
        return importlib.import_module(name)
    except Exception as error:  # an import can raise anything: TypeError, SystemError, RuntimeError ...
        traceback.print_exc()
        report.emit("import-failed", module=name, error=describe(error))
        raise ImportFailed(name)


def describe(error):
    """`TypeError: text`, with the error that it came from, where there is one."""
    text = "%s: %s" % (type(error).__name__, error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and str(cause) not in text:
        text += " (from %s: %s)" % (type(cause).__name__, cause)
    return text[:2000]


def attempt(report, what, function, *arguments):
    """A fact that may not be had everywhere: its value, or None with the reason in the report."""
    try:
        return function(*arguments)
    except Exception as error:
        report.emit("unavailable", what=what, error=describe(error))
        return None


def part(report, what, function, unsupported):
    """One part of the full level: its facts, or what it raised. `unsupported` is the error of what cannot be had."""
    report.begin(what)
    started = time.time()
    facts = {"what": what, "done": False}
    try:
        facts.update(function(), done=True)
    except unsupported as reason:
        facts.update(supported=False, error=str(reason))
    except Exception as error:
        traceback.print_exc()
        facts.update(error=describe(error))
    report.emit("full", seconds=round(time.time() - started, 3), **facts)


def options(job, arguments=None, extend=None):
    parser = argparse.ArgumentParser(prog=job, description="A provision smoke job.")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--level", choices=LEVELS, default="train")
    parser.add_argument("--report", metavar="FILE", help="append JSON lines here (default: standard output)")
    parser.add_argument("--limit", type=float, default=0, metavar="SECONDS", help="the time limit the runner holds")
    if extend is not None:
        extend(parser)
    return parser.parse_args(arguments)


def guard(limit):
    """Leave stacks behind at a crash or a hang, and do not outlive a runner that was killed."""
    faulthandler.enable()
    if limit > 0:
        faulthandler.dump_traceback_later(max(limit * 0.95, limit - 5), exit=False)
        if hasattr(signal, "alarm"):
            signal.alarm(int(limit) + 60)


def force_cpu():
    """Hide accelerators before a framework looks for them."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        os.environ[name] = "-1"


def main(job, run, arguments=None, extend=None):
    """Run a job: 0 when it reached its result, 1 when something was raised (the report says what)."""
    chosen = options(job, arguments, extend)
    guard(chosen.limit)
    if chosen.device == "cpu":
        force_cpu()
    report = Report(chosen.report)
    report.emit(
        "start", job=job, level=chosen.level, demanded=chosen.device, python=platform.python_version(),
        executable=sys.executable, system=platform.platform(),
    )
    try:
        run(report, chosen)
    except ImportFailed:
        return 1
    except Exception as error:
        traceback.print_exc()
        report.emit("error", stage=report.stage, error=describe(error))
        return 1
    mapped(report)
    report.emit("end")
    return 0


def mapped(report):
    """Accelerator libraries in this process that do not come from the environment (where the system tells)."""
    home = os.path.realpath(sys.prefix) + os.sep
    try:
        with open("/proc/self/maps") as stream:
            paths = sorted(set(line.split(None, 5)[5].strip() for line in stream if ".so" in line))
    except (IOError, OSError, IndexError):
        return
    names = ("libcudnn", "libcudart", "libcublas", "libcufft", "libcurand", "libcusolver", "libcusparse", "libcupti")
    found = [path for path in paths if os.path.basename(path).startswith(names)]
    hook = sys.modules.get("_provision_libraries")
    folder = os.path.dirname(os.path.abspath(hook.__file__)) if hook else ""
    ours = set(os.path.realpath(os.path.join(folder, place)) for _, place in hook.LIBRARIES) if hook else ()
    elsewhere = [path for path in found if not path.startswith(home) and path not in ours]
    if found:
        report.emit("mapped", own=len(found) - len(elsewhere), elsewhere=elsewhere)


def finish(code):
    """End the process the ordinary way, so that a crash in a framework's own shutdown is seen too."""
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
