"""`provision` and `python -m provision`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; the value is the exit code. `--version` is answered before anything is loaded."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from provision import __version__

        print(f"provision {__version__}")
        return 0
    from provision.cli.funnel import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
