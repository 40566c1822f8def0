"""Stack -> lock, through an engine: `pypi` asks uv for the closure of Python packages, `conda` asks rattler."""
