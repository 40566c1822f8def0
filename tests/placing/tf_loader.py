"""Which CUDA libraries can TensorFlow's own loader open? No GPU, no driver. Run by an environment's interpreter.

TensorFlow 2.5 to 2.10 on Linux opens them through functions of libtensorflow_framework.so.2. Called directly they need
no driver, where the list of devices would stop at libcuda.so.1. Each returns its result through a hidden first pointer;
whether it succeeded is read off the process's own map of loaded files.
"""

import ctypes
import importlib.util
import json
import os
import sys

PARTS = ("CudaRuntime", "Cublas", "CublasLt", "Cufft", "Curand", "Cusolver", "Cusparse", "Cupti", "Cudnn")
WORDS = ("cudart", "cublas", "cufft", "curand", "cusolver", "cusparse", "cupti", "cudnn")


def main():
    if "--no-hook" in sys.argv:
        sys.meta_path = [one for one in sys.meta_path if type(one).__module__ != "_provision_libraries"]
    package = os.path.dirname(importlib.util.find_spec("tensorflow").origin)
    framework = ctypes.CDLL(os.path.join(package, "libtensorflow_framework.so.2"), mode=ctypes.RTLD_GLOBAL)
    for part in PARTS:
        name = f"Get{part}DsoHandle"
        call = getattr(framework, f"_ZN15stream_executor8internal9DsoLoader{len(name)}{name}Ev")
        call.restype, call.argtypes = None, [ctypes.c_void_p]
        call(ctypes.addressof((ctypes.c_void_p * 8)()))
    with open("/proc/self/maps") as maps:
        paths = sorted({line.split(None, 5)[5].strip() for line in maps if ".so" in line})
    print(json.dumps([path for path in paths if any(word in os.path.basename(path) for word in WORDS)]))


if __name__ == "__main__":
    main()
