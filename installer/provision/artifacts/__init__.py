"""What a wheel or library says of itself: metadata, build facts, ELF and PE imports, the GPU code inside."""
