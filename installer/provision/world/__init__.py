"""Real files, processes, network, clock: the only effects. Implements the ports; imports no stage."""
