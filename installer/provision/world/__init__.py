"""The only effects: real files, processes, HTTP, clock, mutex. Implements the ports."""
