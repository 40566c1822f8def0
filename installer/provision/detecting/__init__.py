"""Facts of the machine: one probe a file (read, then a pure parser), merged by precedence. Never writes."""

from provision.detecting.detection import detect
from provision.detecting.pythons import pythons_for

__all__ = ["detect", "pythons_for"]
