"""Lock -> what other tools read. Pure.

conda.py     conda-lock.yml, environment.yml, the explicit file
"""
