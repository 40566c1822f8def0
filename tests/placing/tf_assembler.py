"""Can TensorFlow's own XLA find the placed ptxas? No GPU, no driver. Run by an environment's interpreter, Linux.

XLA reads XLA_FLAGS into its debug options, makes the assembler's options of them, and gives both to the function that
runs ptxas over the code of a kernel. The three functions are exported and are called here one after another; what they
hand on stays opaque. Asked of TensorFlow 2.10.1.
"""

import ctypes
import json
import os
import re
import sys

PTX = b""".version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
"""
OPTIONS = "_ZN3xla24GetDebugOptionsFromFlagsEv"
ASSEMBLER = "_ZN3xla3gpu23PtxOptsFromDebugOptionsERKNS_12DebugOptionsE"
COMPILE = "_ZN15stream_executor13CompileGpuAsmEiiPKcNS_10GpuAsmOptsE"


def main():
    if "--no-hook" in sys.argv:
        sys.meta_path = [one for one in sys.meta_path if type(one).__module__ != "_provision_libraries"]
    import tensorflow

    path = os.path.join(os.path.dirname(tensorflow.__file__), "python", "_pywrap_tensorflow_internal.so")
    library = ctypes.CDLL(path)
    options, assembler, result = (ctypes.create_string_buffer(1 << 14) for _ in range(3))
    call(library, OPTIONS, options)
    call(library, ASSEMBLER, assembler, options)
    call(library, COMPILE, result, 7, 5, PTX, assembler)
    # What comes back is a status of four words and then the bytes: begin, end.
    words = (ctypes.c_size_t * 6).from_buffer(result)
    made = ctypes.string_at(words[4], words[5] - words[4]) if words[4] else b""
    print(
        json.dumps(
            {"elf": made[:4] == b"\x7fELF", "by": made_by(made), "flags": os.environ.get("XLA_FLAGS", "")}
        )
    )


def call(library, name, *arguments):
    """Each returns through a hidden first pointer."""
    function = library[name]
    function.restype = None
    function(*arguments)


def made_by(code):
    """The release of the tool that made it: newer ones leave a note, older ones their number as the ELF's version."""
    found = re.search(rb"Cuda compilation tools, release ([0-9.]+)", code)
    number = int.from_bytes(code[20:24], "little")
    return found.group(1).decode() if found else f"{number // 10}.{number % 10}"


if __name__ == "__main__":
    main()
