"""The frozen nouns: profile, machine, stack, lock, plan, journal, receipt, finding. Imports nothing of ours."""
