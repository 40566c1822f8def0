"""The full level of the TensorFlow job: what people do beside plain training. Each part states its own facts."""

import os
import tempfile
import time

import _images
import _report


class Unsupported(Exception):
    """This TensorFlow has no such feature for this device; that is no fault of the environment."""


def run(report, tf, device, model, job):
    """All parts, each on its own: what one of them raises does not hide the next."""
    parts = (
        ("mixed", lambda: mixed(tf, device, job)),
        ("replicas", lambda: replicas(tf, device, job)),
        ("throughput", lambda: throughput(tf, device, job)),
        ("speed-up", lambda: speed_up(tf, device, job)),
        ("save", lambda: save(tf, device, model, job)),
        ("serve", lambda: serve(tf, device, model, job)),
    )
    for what, function in parts:
        _report.part(report, what, function, Unsupported)


def policy(tf, device):
    """Mixed precision as a policy for layers, and what wraps the optimizer; until 2.3 they are experimental."""
    home = tf.keras.mixed_precision
    maker = getattr(home, "Policy", None) or getattr(home, "DTypePolicy", None)
    if maker is not None:
        return maker("mixed_float16"), home.LossScaleOptimizer
    if device.is_cpu:
        # Not merely slow: the training step of 2.1 does not return.
        raise Unsupported("mixed precision of TensorFlow %s is made for cards" % tf.__version__)
    home = home.experimental
    return home.Policy("mixed_float16"), lambda optimizer: home.LossScaleOptimizer(optimizer, "dynamic")


def mixed(tf, device, job, steps=20):
    """Training with narrow activations and a head and a loss in float32."""
    narrow, wrap = policy(tf, device)
    job.seed(tf)
    data = iter(job.dataset(tf, 256, 1, job.BATCH))
    losses = []
    with device.scope():
        model = job.network(tf, dtype=narrow)
        step = job.stepper(tf, model, wrap(tf.keras.optimizers.SGD(0.1, momentum=0.9)))
        for _ in range(steps):
            loss, logits = step(*next(data))
            losses.append(float(loss))
        trunk = tf.keras.Model(model.inputs, model.layers[1].output)(next(data)[0])
    return {"losses": losses, "dtypes": {"wanted": "float16", "trunk": trunk.dtype.name, "head": logits.dtype.name}}


def replicas(tf, device, job):
    """Keras' training on all devices of this sort at once (the CPU stands in as two)."""
    if device.place is None:
        raise Unsupported("MirroredStrategy does not know custom devices")
    listing = getattr(tf.config, "list_logical_devices", None) or tf.config.experimental.list_logical_devices
    names = [found.name for found in listing(device.type)]
    job.seed(tf)
    strategy = tf.distribute.MirroredStrategy(names)
    with strategy.scope():
        model = job.network(tf)
        model.compile(
            optimizer=tf.keras.optimizers.SGD(0.1, momentum=0.9),
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    data = job.dataset(tf, 256, 1, job.BATCH * strategy.num_replicas_in_sync)
    history = model.fit(data, epochs=3, steps_per_epoch=8, shuffle=False, verbose=0).history
    return {"devices": strategy.num_replicas_in_sync, "names": names, "losses": [float(loss) for loss in history["loss"]]}


def throughput(tf, device, job):
    """Pictures a second by batch size; the sweep ends where memory does."""
    table = []
    for size in (16, 64, 256) if device.is_cpu else (16, 32, 64, 128, 256, 512, 1024):
        try:
            with device.scope():
                model = job.network(tf)
            table.append({"batch": size, "images_per_second": round(_rate(tf, device.place, model, job, 16, size), 1)})
        except tf.errors.ResourceExhaustedError as error:
            table.append({"batch": size, "error": _report.describe(error)})
            break
    return {"table": table}


def _rate(tf, place, model, job, side, batch, steps=6):
    """Pictures a second in training steps on random pictures, the first of them not counted."""
    with tf.device(place):
        images = tf.random.uniform((batch, side, side, _images.CHANNELS))
        labels = tf.range(batch) % _images.CLASSES
        step = job.stepper(tf, model, tf.keras.optimizers.SGD(0.01))
        for number in range(steps + 1):
            loss, _ = step(images, labels)
            float(loss)  # waits for the device
            if number == 0:
                started = time.time()
    return steps * batch / max(time.time() - started, 1e-9)


def wide(tf):
    """A network with enough work in it for a card to be faster than the CPU."""
    layers = tf.keras.layers
    inputs = tf.keras.Input(shape=(64, 64, _images.CHANNELS))
    flow = layers.Conv2D(64, 3, padding="same", activation="relu")(inputs)
    flow = layers.Conv2D(64, 3, padding="same", activation="relu")(flow)
    return tf.keras.Model(inputs, layers.Dense(_images.CLASSES)(layers.GlobalAveragePooling2D()(flow)))


def speed_up(tf, device, job):
    """The device against all cores of the CPU, on work that suits a card."""
    if device.is_cpu:
        raise Unsupported("the device is the CPU")
    with tf.device("/CPU:0"):
        slow = _rate(tf, "/CPU:0", wide(tf), job, 64, 16, steps=1)
    with device.scope():
        fast = _rate(tf, device.place, wide(tf), job, 64, 16, steps=10)
    return {"device_images_per_second": round(fast, 1), "cpu_images_per_second": round(slow, 1), "times": round(fast / slow, 2)}


def pictures(tf, job):
    return next(iter(job.dataset(tf, 64, 4, 64, shuffle=False)))[0]


def is_keras3(tf):
    return hasattr(tf.keras.Model, "export") and str(getattr(tf.keras, "__version__", "")).startswith("3")


def save(tf, device, model, job):
    """Keras' own file and back: the loaded model must give the same answers."""
    images = pictures(tf, job)
    with tempfile.TemporaryDirectory() as folder, device.scope():
        path = os.path.join(folder, "model.keras" if is_keras3(tf) else "model")
        expected = model(images, training=False).numpy().tolist()
        if is_keras3(tf):
            model.save(path)
        else:
            model.save(path, save_format="tf")
        loaded = tf.keras.models.load_model(path)
        found = loaded(images, training=False).numpy().tolist()
    return {"format": "keras" if is_keras3(tf) else "tf", "difference": _images.difference(found, expected)}


def serve(tf, device, model, job):
    """A SavedModel, loaded without Keras and asked through its signature."""
    images = pictures(tf, job)
    with tempfile.TemporaryDirectory() as folder, device.scope():
        expected = model(images, training=False).numpy().tolist()
        path = os.path.join(folder, "served")
        if is_keras3(tf):
            model.export(path)
        else:
            tf.saved_model.save(model, path)
        loaded = tf.saved_model.load(path)
        signature = loaded.signatures["serving_default"]
        (name,) = signature.structured_input_signature[1]
        (answer,) = signature(**{name: images}).values()
        found = answer.numpy().tolist()
    return {"signatures": sorted(loaded.signatures), "difference": _images.difference(found, expected)}
