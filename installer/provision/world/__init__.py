"""Real files, processes and time: where the effects are."""
