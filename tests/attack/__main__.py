"""Run attacks in turn for a given time, and print the promises that broke.

python -m tests.attack --minutes 60 --seed 1
"""

import argparse
import random
import sys
import time
from itertools import cycle

from tests.attack.rounds import ROUNDS


def main(minutes: float, seed: int) -> int:
    """Run attacks in turn until the deadline; return 1 if a promise broke."""
    total, deadline = 0, time.monotonic() + 60 * minutes
    for number, (attack, (_, size)) in enumerate(cycle(ROUNDS.items())):
        if time.monotonic() > deadline:
            break
        breaches = attack(random.Random(f"{seed}/{number}"), size)
        total += len(breaches)
        print(f"{attack.__name__} ({seed}/{number}): {len(breaches)} broken promises", flush=True)
        print(*(f"  BROKEN {breach}\n" for breach in breaches), sep="\n", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    sys.exit(main(chosen.minutes, chosen.seed))
