"""provision: a hardware profile becomes an environment that is proven to train."""

__version__ = "0.1.0"
