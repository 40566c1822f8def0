"""The only effects: files, processes, the network, the clock."""
