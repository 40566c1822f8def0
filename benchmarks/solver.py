#!/usr/bin/env python3
"""Seconds of processor time that the stack search takes, without network, for every profile of a folder.

    python benchmarks/solver.py [profiles] [--repeat 5]

Reading the knowledge base is measured once and apart. Prints a Markdown table: minimum per (target, Python).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from provision.model.finding import ProvisionError
from provision.pipeline.locks import combinations
from provision.pipeline.profiles import read, variants_of
from provision.pipeline.session import Session
from provision.resolving import resolve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("profiles"))
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    session = Session()
    began = time.process_time()
    rows = session.knowledge.list()
    print(f"knowledge base: {len(rows)} rows in {time.process_time() - began:.3f} s\n")
    print("| profile | target | Python | milliseconds | outcome |\n|---|---|---|---|---|")
    for path in sorted(options.folder.glob("*.yaml")):
        for source in variants_of(read(str(path), session.folder)):
            knowledge = session.serving(source).knowledge
            for target, python in combinations(source.profile, session.serving(source)):
                taken, outcome = [], ""
                for _ in range(options.repeat):
                    began = time.process_time()
                    try:
                        stack = resolve(source.profile, target, python, knowledge)
                        outcome = ", ".join(stack.requirements[:2])
                    except ProvisionError as error:
                        outcome = error.findings[0].code
                    taken.append(time.process_time() - began)
                name = f"{path.stem} {source.variant or ''}".strip()
                print(f"| {name} | {target} | {python} | {min(taken) * 1000:.1f} | {outcome} |")


if __name__ == "__main__":
    main()
