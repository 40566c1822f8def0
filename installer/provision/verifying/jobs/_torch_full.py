"""The full level of the torch job: what people do beside plain training. Each part states its own facts."""

import contextlib
import os
import tempfile
import time

import _images
import _report


class Unsupported(Exception):
    """This torch has no such feature for this device; that is no fault of the environment."""


def run(report, torch, device, model, job):
    """All parts, each on its own: what one of them raises does not hide the next."""
    parts = (
        ("mixed", lambda: mixed(torch, device, job)),
        ("replicas", lambda: replicas(torch, device, job)),
        ("throughput", lambda: throughput(torch, device, job)),
        ("speed-up", lambda: speed_up(torch, device)),
        ("save", lambda: save(torch, device, model, job)),
    )
    for what, function in parts:
        _report.part(report, what, function, Unsupported)
        device.release()


def batches(torch, job, place, count, batch=32):
    data = job.loader(torch, job.dataset(torch, 256, 1), batch)
    for _, (images, labels) in zip(range(count), job.endless(data)):
        yield images.to(place), labels.to(place)


def autocast(torch, device):
    """A function that makes the context of mixed precision, and its narrow type."""
    narrow = torch.bfloat16 if device.is_cpu else torch.float16
    kind = device.place.type
    if hasattr(torch, "autocast") and kind != "privateuseone":
        return lambda enabled=True: torch.autocast(kind, dtype=narrow, enabled=enabled), narrow
    if kind == "cuda":
        return lambda enabled=True: torch.cuda.amp.autocast(enabled=enabled), narrow
    raise Unsupported("torch %s has no autocast for %s" % (torch.__version__, kind))


def scaler(torch, device):
    if device.place.type != "cuda":
        return None
    maker = getattr(getattr(torch, "amp", None), "GradScaler", None)
    return maker("cuda") if maker is not None else torch.cuda.amp.GradScaler()


def mixed(torch, device, job, steps=20):
    """Training with narrow activations and a head and a loss in float32."""
    context, narrow = autocast(torch, device)
    torch.manual_seed(_report.SEED)
    model = job.network(torch).to(device.place)
    trunk, head = model[:-1], model[-1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scale = scaler(torch, device)
    losses = []
    for images, labels in batches(torch, job, device.place, steps):
        optimizer.zero_grad()
        with context():
            features = trunk(images)
            convolved = trunk[0](images)
        with context(enabled=False):
            logits = head(features.float())
            loss = torch.nn.functional.cross_entropy(logits, labels)
        _backward(loss, optimizer, scale)
        losses.append(float(loss.detach()))
    return {
        "losses": losses,
        "dtypes": {"wanted": _word(narrow), "trunk": _word(convolved.dtype), "head": _word(logits.dtype)},
    }


def _word(dtype):
    return str(dtype).replace("torch.", "")


def _backward(loss, optimizer, scale):
    if scale is None:
        loss.backward()
        optimizer.step()
        return
    scale.scale(loss).backward()
    scale.step(optimizer)
    scale.update()


def replicas(torch, device, job, steps=10):
    """Training on all devices of this sort at once."""
    if device.place.type not in ("cuda", "cpu"):
        raise Unsupported("DataParallel is made for CUDA devices")
    torch.manual_seed(_report.SEED)
    model = torch.nn.DataParallel(job.network(torch).to(device.place))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for images, labels in batches(torch, job, device.place, steps, batch=64):
        loss, _ = job.learn(torch, model, optimizer, images, labels)
        losses.append(float(loss))
    return {"devices": max(1, len(model.device_ids)), "losses": losses}


def throughput(torch, device, job):
    """Pictures a second by batch size; the sweep ends where memory does."""
    table = []
    for size in (16, 64, 256) if device.is_cpu else (16, 32, 64, 128, 256, 512, 1024):
        try:
            table.append({"batch": size, "images_per_second": round(_rate(torch, device, job.network(torch), 16, size), 1)})
        except RuntimeError as error:
            if not table or "memory" not in str(error).lower():
                raise
            table.append({"batch": size, "error": _report.describe(error)})
            break
    return {"table": table}


def _rate(torch, device, model, side, batch, steps=6):
    """Pictures a second in training steps on random pictures, the first of them not counted."""
    model = model.to(device.place)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images = torch.rand(batch, _images.CHANNELS, side, side).to(device.place)
    labels = (torch.arange(batch) % _images.CLASSES).to(device.place)
    for step in range(steps + 1):
        if step == 1:
            device.synchronize()
            started = time.time()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
    device.synchronize()
    return steps * batch / max(time.time() - started, 1e-9)


def wide(torch):
    """A network with enough work in it for a card to be faster than the CPU."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(_images.CHANNELS, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, _images.CLASSES),
    )


class _Cpu(object):
    """The CPU as a device to compare with."""

    def __init__(self, torch):
        self.place = torch.device("cpu")

    def synchronize(self):
        pass


def speed_up(torch, device):
    """The device against all cores of the CPU, on work that suits a card."""
    if device.is_cpu:
        raise Unsupported("the device is the CPU")
    with threads(torch, os.cpu_count() or 1):
        slow = _rate(torch, _Cpu(torch), wide(torch), 64, 16, steps=1)
    fast = _rate(torch, device, wide(torch), 64, 16, steps=10)
    return {"device_images_per_second": round(fast, 1), "cpu_images_per_second": round(slow, 1), "times": round(fast / slow, 2)}


@contextlib.contextmanager
def threads(torch, count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def save(torch, device, model, job):
    """Weights to a file and back into a new network on the CPU: it must give the same answers."""
    model.eval()
    images = next(batches(torch, job, device.place, 1))[0]
    with torch.no_grad():
        expected = model(images).cpu().tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "weights.pt")
        torch.save(model.state_dict(), path)
        size = os.path.getsize(path)
        loaded = job.network(torch)
        loaded.load_state_dict(torch.load(path, map_location="cpu"))
    loaded.eval()
    with torch.no_grad():
        found = loaded(images.cpu()).tolist()
    return {"bytes": size, "difference": _images.difference(found, expected)}
