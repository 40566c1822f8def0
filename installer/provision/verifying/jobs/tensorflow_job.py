"""Smoke job for TensorFlow 2.1 and later, with Keras 2 or 3: import, device, product with gradient, training,
agreement with the CPU."""

import functools
import os
import random
import sys
import time

import _images
import _report

STEPS = 40
BATCH = 32
FRAMEWORK = "tensorflow"

#: Device word -> (modules that add the device, TensorFlow's type of the device).
BACKENDS = {
    "cpu": ((), "CPU"),
    "cuda": ((), "GPU"),
    "rocm": ((), "GPU"),
    "directml": ((), "GPU"),
    "mps": ((), "GPU"),
    "xpu": ((), "XPU"),
    "npu": (("npu_device",), "NPU"),
    "mlu": ((), "MLU"),
    "musa": (("tensorflow_musa",), "MUSA"),
    "supa": ((), "SUPA"),
}


def load(report):
    """Import TensorFlow with Keras and say which build it is."""
    os.environ["KERAS_BACKEND"] = "tensorflow"  # a Keras 3 set to another backend would prove another framework
    report.begin("import")
    started = time.time()
    tf = _report.import_module(report, "tensorflow")
    if not hasattr(tf, "__version__"):
        # A folder without its package still imports, as an empty namespace: what an uninstall can leave behind.
        report.emit("import-failed", module="tensorflow", error="ImportError: tensorflow is an empty folder: %s" % (
            list(getattr(tf, "__path__", [])),))
        raise _report.ImportFailed("tensorflow")
    keras = _report.attempt(report, "keras version", lambda: str(tf.keras.__version__))
    report.emit(
        "imported", version=str(tf.__version__), keras=keras, seconds=round(time.time() - started, 3),
        build={"cuda": tf.test.is_built_with_cuda(), "rocm": _built_with_rocm(tf), "info": _build_info(tf)},
    )
    return tf


def _built_with_rocm(tf):
    return bool(tf.test.is_built_with_rocm()) if hasattr(tf.test, "is_built_with_rocm") else False


def _build_info(tf):
    found = getattr(tf.sysconfig, "get_build_info", dict)()
    return {key: found[key] for key in found if key in ("cuda_version", "cudnn_version", "rocm_version")}


class Device(object):
    """The device of this run: `place` is its name for tf.device, None for a custom device that is the default.

    Where the device is not to be had, `place` is the CPU and `problem` says why: the job goes on, so that the judge
    learns whether the software half works.
    """

    def __init__(self, tf, kind):
        self.tf = tf
        self.kind = kind
        self.type = "CPU"
        self.place = "/CPU:0"
        self.problem = ""
        self.names = []
        self.details = {}

    @property
    def is_cpu(self):
        return self.type == "CPU"

    def scope(self):
        return self.tf.device(self.place)

    def memory(self):
        """Largest number of bytes that TensorFlow held on the device, None where it does not say."""
        query = getattr(self.tf.config.experimental, "get_memory_info", None)
        if self.is_cpu or self.place is None or query is None:
            return None
        return int(query(self.place.lstrip("/"))["peak"])


def open_device(report, tf, kind):
    """Find the device, make its memory grow on demand, and report all of its sort."""
    report.begin("device")
    device = Device(tf, kind)
    modules, sort = BACKENDS[kind]
    if kind == "cpu":
        device.names = ["CPU"]
        _hide_accelerators(report, tf)
    elif kind == "npu":
        _open_npu(report, device)
    else:
        for module in modules:
            _report.import_module(report, module)
        _open_physical(report, device, sort)
    listed = [(found.device_type, found.name) for found in tf.config.list_physical_devices()]
    report.emit("devices", devices=device.names, problem=device.problem, listed=listed, plugins=plugins(tf))
    return device


def _hide_accelerators(report, tf):
    for found in tf.config.list_physical_devices():
        if found.device_type not in ("CPU", "XLA_CPU"):
            _report.attempt(report, "hide", tf.config.set_visible_devices, [], found.device_type)


def split_cpu(tf):
    """Make the CPU look like two devices, so that training on several can be tried without a card."""
    config = tf.config
    setter = getattr(config, "set_logical_device_configuration", None)
    setter = setter or config.experimental.set_virtual_device_configuration
    maker = getattr(config, "LogicalDeviceConfiguration", None) or config.experimental.VirtualDeviceConfiguration
    setter(config.list_physical_devices("CPU")[0], [maker(), maker()])


def _open_npu(report, device):
    api = _report.import_module(report, "npu_device")
    handle = _report.attempt(report, "npu_device.open", lambda: api.open().as_default())
    if handle is None:
        device.problem = "npu_device.open() failed"
    else:
        device.type, device.place, device.names = "NPU", None, ["NPU:0"]


def _open_physical(report, device, sort):
    tf = device.tf
    found = tf.config.list_physical_devices(sort)
    if not found:
        device.problem = _why_not(tf, device.kind, sort)
        return
    for one in found:
        _report.attempt(report, "memory growth", tf.config.experimental.set_memory_growth, one, True)
        device.names.append(_name(report, tf, one, device))
    device.type, device.place = sort, "/%s:0" % sort


def _why_not(tf, kind, sort):
    why = "TensorFlow lists no device of type %s" % sort
    if kind == "cuda" and not tf.test.is_built_with_cuda():
        why += "; tensorflow %s is a build without CUDA" % tf.__version__
    if kind == "directml" and not any("tfdml" in name for name in plugins(tf)):
        why += "; tensorflow-directml-plugin is not installed"
    return why


def _name(report, tf, physical, device):
    query = getattr(tf.config.experimental, "get_device_details", None)
    details = (_report.attempt(report, "device details", query, physical) if query else None) or {}
    if not device.details:
        device.details = dict(details)
    return str(details.get("device_name") or physical.name)


def plugins(tf):
    """File names in site-packages/tensorflow-plugins: what adds devices to TensorFlow from outside."""
    folder = os.path.join(os.path.dirname(os.path.dirname(tf.__file__)), "tensorflow-plugins")
    return sorted(name for name in os.listdir(folder)) if os.path.isdir(folder) else []


def capability(device):
    found = device.details.get("compute_capability")
    return ".".join(str(part) for part in found) if isinstance(found, (tuple, list)) else found


def multiply(report, tf, device):
    """A matrix product and its gradient on the device, held against plain Python; returns where it was made."""
    report.begin("matmul")
    left, right = _images.matrix(32, 1), _images.matrix(32, 2)
    ones = [[1.0] * 32 for _ in range(32)]
    with device.scope():
        first, second = tf.Variable(left), tf.constant(right)
        with tf.GradientTape() as tape:
            result = tf.matmul(first, second)
            total = tf.reduce_sum(result)
        gradient = tape.gradient(total, first)
        wide = tf.ones((512, 512))
        gap = tf.reduce_max(tf.abs(tf.matmul(wide, wide) - 512.0))
    report.emit(
        "matmul", device=result.device, gradient_device=gradient.device,
        difference=_images.difference(result.numpy().tolist(), _images.product(left, right)),
        gradient_difference=_images.difference(
            gradient.numpy().tolist(), _images.product(ones, [list(row) for row in zip(*right)])
        ),
        wide_difference=float(gap) / 512,
    )
    return result.device


def seed(tf):
    import numpy

    random.seed(_report.SEED)  # Keras 3 draws the seeds of its initialisers from here
    numpy.random.seed(_report.SEED)
    tf.random.set_seed(_report.SEED)


def network(tf, dropout=0.2, dtype=None):
    """The small network; `dtype` may be a policy of mixed precision."""
    layers = tf.keras.layers
    inputs = tf.keras.Input(shape=(_images.SIDE, _images.SIDE, _images.CHANNELS))
    add = functools.partial(_layer, {} if dtype is None else {"dtype": dtype})
    flow = add(layers.Conv2D, 16, 3, padding="same")(inputs)
    flow = add(layers.ReLU)(add(layers.BatchNormalization, momentum=0.8)(flow))
    flow = add(layers.Conv2D, 32, 3, padding="same")(add(layers.MaxPooling2D)(flow))
    flow = add(layers.ReLU)(add(layers.BatchNormalization, momentum=0.8)(flow))
    flow = add(layers.Dropout, dropout)(add(layers.GlobalAveragePooling2D)(flow))
    # The head stays in float32, also where the rest runs in mixed precision.
    return tf.keras.Model(inputs, layers.Dense(_images.CLASSES, dtype="float32")(flow))


def _layer(common, kind, *arguments, **more):
    more.update(common)
    return kind(*arguments, **more)


def dataset(tf, count, number, batch, shuffle=True):
    """A tf.data pipeline from bytes to normalised batches, as training code has it."""
    import numpy

    pixels, labels = _images.pictures(count, number)
    shape = (count, _images.SIDE, _images.SIDE, _images.CHANNELS)
    raw = numpy.frombuffer(pixels, dtype=numpy.uint8).reshape(shape)
    auto = getattr(tf.data, "AUTOTUNE", None) or tf.data.experimental.AUTOTUNE
    with tf.device("/CPU:0"):
        data = tf.data.Dataset.from_tensor_slices((raw, numpy.array(labels, dtype=numpy.int64)))
        if shuffle:
            data = data.shuffle(count, seed=_report.SEED).repeat()
        data = data.map(lambda image, label: (tf.cast(image, tf.float32) / 255.0 - 0.5, label), auto)
        return data.batch(batch).prefetch(auto)


def stepper(tf, model, optimizer):
    """One training step as a graph: what people's own loops compile."""
    if hasattr(optimizer, "build"):
        optimizer.build(model.trainable_variables)

    @tf.function
    def step(images, labels):
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
            goal = _scaled(optimizer, loss)
        gradients = tape.gradient(goal, model.trainable_variables)
        if hasattr(optimizer, "get_unscaled_gradients"):
            gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss, logits

    return step


def _scaled(optimizer, loss):
    """The loss as an optimizer for mixed precision wants it: Keras 2 and 3 name it differently."""
    for name in ("get_scaled_loss", "scale_loss"):
        if hasattr(optimizer, name):
            return getattr(optimizer, name)(loss)
    return loss


def where(variable):
    """The device of a variable: Keras 3 wraps TensorFlow's."""
    return str(getattr(variable, "value", variable).device if not hasattr(variable, "device") else variable.device)


def train(report, tf, device, steps=STEPS):
    """Train the small network step by step; returns it with the losses."""
    report.begin("train")
    seed(tf)
    data = iter(dataset(tf, 256, 1, BATCH))
    losses = []
    with device.scope():
        model = network(tf)
        step = stepper(tf, model, tf.keras.optimizers.SGD(0.1, momentum=0.9))
        started = time.time()
        for number in range(1, steps + 1):
            if number == 2:
                started = time.time()  # the first step compiles
            loss, logits = step(*next(data))
            losses.append(float(loss))
            report.emit("step", step=number, loss=losses[-1])
    seconds = time.time() - started
    report.emit(
        "device", demanded=device.kind, used=logits.device, loss_device=loss.device,
        variables=sorted({where(variable) for variable in model.trainable_variables}),
        name=device.names[0] if device.names else "CPU", capability=capability(device),
        memory=_report.attempt(report, "memory", device.memory), problem=device.problem,
    )
    return model, losses, seconds


def fit(report, tf, model, device):
    """Keras' own training loop and evaluation; accuracy on pictures that were not trained on."""
    report.begin("fit")
    with device.scope():
        model.compile(
            optimizer=tf.keras.optimizers.SGD(0.01), metrics=["accuracy"],
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
        history = model.fit(dataset(tf, 256, 1, BATCH), epochs=1, steps_per_epoch=8, shuffle=False, verbose=0).history
        loss, accuracy = model.evaluate(dataset(tf, 128, 2, 64, shuffle=False), verbose=0)
    report.emit("fit", loss=float(history["loss"][-1]), held_out_loss=float(loss), accuracy=float(accuracy))
    return float(accuracy)


def agreement(report, tf, device, steps=5):
    """The same steps from the same weights on the device and on the CPU, without dropout: largest difference."""
    report.begin("agreement")
    seed(tf)
    with tf.device("/CPU:0"):
        weights = network(tf, dropout=0.0).get_weights()
    ours = follow(tf, weights, device.place, steps)
    theirs = follow(tf, weights, "/CPU:0", steps)
    found = max(
        _images.difference([mine], [other]) for mine, other in zip(ours["losses"], theirs["losses"])
    )
    report.emit(
        "agreement", steps=steps, difference=found, losses=ours["losses"], cpu_losses=theirs["losses"],
        logits_difference=_images.difference(ours["logits"], theirs["logits"]),
    )
    return found


def follow(tf, weights, place, steps):
    losses = []
    data = iter(dataset(tf, 160, 3, BATCH, shuffle=False))
    with tf.device(place):
        model = network(tf, dropout=0.0)
        model.set_weights(weights)
        step = stepper(tf, model, tf.keras.optimizers.SGD(0.05))
        for _ in range(steps):
            loss, logits = step(*next(data))
            losses.append(float(loss))
    return {"losses": losses, "logits": logits.numpy().tolist()}


def prove(report, tf, device, steps=STEPS):
    """The train level: the facts that the judge needs, ending with the result."""
    model, losses, seconds = train(report, tf, device, steps)
    accuracy = fit(report, tf, model, device)
    gap = None if device.is_cpu else agreement(report, tf, device)
    report.emit(
        "result", losses=losses, accuracy=accuracy, chance=_images.CHANCE, cpu_difference=gap,
        seconds=round(seconds, 3), images_per_second=round((len(losses) - 1) * BATCH / max(seconds, 1e-9), 1),
    )
    return model


def run(report, chosen):
    report = report.bind(framework=FRAMEWORK)
    tf = load(report)
    if chosen.level == "full" and chosen.device == "cpu":
        _report.attempt(report, "two CPUs", split_cpu, tf)
    device = open_device(report, tf, chosen.device)
    used = multiply(report, tf, device)
    if chosen.level == "quick":
        report.emit("device", demanded=device.kind, used=used, problem=device.problem,
                    name=device.names[0] if device.names else "CPU")
        report.emit("result")
        return
    model = prove(report, tf, device)
    if chosen.level == "full":
        import _tensorflow_full

        _tensorflow_full.run(report, tf, device, model, sys.modules[__name__])


if __name__ == "__main__":
    _report.finish(_report.main("tensorflow", run))
