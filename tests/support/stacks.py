"""The stacks of the tests: tiny wheels named, versioned and related like the real ones, and as wrong.

The lacks are the point: no cap on numpy in TensorFlow 2.10, protobuf uncapped in 2.1, a Windows wheel
that is a stub with other requirements than the Linux wheel of the same version.
"""

from __future__ import annotations

from tests.support.index import Details, LoopbackIndex

TF210 = (
    "keras<2.11,>=2.10.0",
    "numpy>=1.20",
    "protobuf<3.20,>=3.9.2",
    "tensorboard<2.11,>=2.10",
    "tensorflow-estimator<2.11,>=2.10.0",
)
TF221 = ("keras>=3.12.0", "numpy>=1.26.0", "protobuf>=6.31.1")

TENSORBOARD = ("numpy>=1.12.0", "protobuf<3.20,>=3.9.2", "setuptools")

#: name, version, upload time, requirements
PURE: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("numpy", "1.21.6", "2022-04-12T00:00:00Z", ()),
    ("numpy", "1.26.4", "2024-02-05T00:00:00Z", ()),
    ("numpy", "2.2.6", "2025-05-17T00:00:00Z", ()),
    ("protobuf", "3.19.6", "2022-09-29T00:00:00Z", ()),
    ("protobuf", "4.24.4", "2023-10-04T00:00:00Z", ()),
    ("protobuf", "6.32.0", "2025-08-14T00:00:00Z", ()),
    ("keras", "2.10.0", "2022-09-06T00:00:00Z", ()),
    ("keras", "2.11.0", "2022-11-18T00:00:00Z", ()),
    ("keras", "3.12.0", "2025-10-27T00:00:00Z", ("numpy",)),
    ("setuptools", "81.0.0", "2026-02-06T00:00:00Z", ()),
    ("tensorboard", "2.10.1", "2022-09-19T00:00:00Z", TENSORBOARD),
    ("tensorflow-estimator", "2.10.0", "2022-09-06T00:00:00Z", ()),
    ("tensorflow-intel", "2.10.0", "2022-09-06T00:00:00Z", TF210),
    ("tensorflow-cpu", "2.10.1", "2022-11-15T00:00:00Z", TF210),
    ("tensorflow-cpu", "2.21.0", "2026-03-06T00:00:00Z", TF221),
    ("tensorflow", "2.10.1", "2022-11-15T00:00:00Z", TF210),
    ("tensorflow", "2.21.0", "2026-03-06T00:00:00Z", TF221),
    ("tensorflow-directml-plugin", "0.3.0.dev221212", "2022-12-13T00:00:00Z", ()),
    ("tensorflow-directml-plugin", "0.4.0.dev230202", "2023-02-03T00:00:00Z", ()),
    ("torch", "2.0.1", "2023-05-08T00:00:00Z", ("typing-extensions",)),
    ("torch", "2.13.0", "2026-06-10T00:00:00Z", ("typing-extensions",)),
    ("typing-extensions", "4.12.2", "2024-06-07T00:00:00Z", ()),
)  # fmt: skip


def add_tiny_tensorflow(index: LoopbackIndex) -> None:
    """Fill the default index with TensorFlow, torch and what they need; CPU builds of torch apart."""
    for name, version, uploaded, requires in PURE:
        index.wheel(name, version, requires=requires, details=Details(uploaded=uploaded))
    day = Details(uploaded="2022-09-06T00:00:00Z")
    plain, stub = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64", "py3-none-win_amd64"
    index.wheel("tensorflow-cpu", "2.10.0", tag=plain, requires=TF210, details=day)
    index.wheel("tensorflow-cpu", "2.10.0", tag=stub, requires=["tensorflow-intel==2.10.0"], details=day)
    index.sdist("gast", "0.2.2", details=Details(uploaded="2019-01-27T00:00:00Z"))
    for version in ("2.0.1+cpu", "2.13.0+cpu"):
        index.wheel("torch", version, index="pytorch-cpu", requires=["typing-extensions"])
