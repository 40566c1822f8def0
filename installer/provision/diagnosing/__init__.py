"""What is wrong and why: `explain` reads logs; `doctor` (its own modules) reads environments."""
