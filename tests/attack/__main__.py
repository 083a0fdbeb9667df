"""Attack for as long as is wanted, and print what was done and which promises broke.

python -m tests.attack --minutes 60 --seed 1
"""

import argparse
import random
import sys
import time
from collections import Counter
from itertools import cycle

from tests.attack.rounds import ROUNDS, Found

PROMISES = {
    "missing": "requests that no store knows of",
    "twice": "requests sent or recorded twice",
    "invented": "answers that nobody gave",
    "tokens": "calls whose tokens differ",
    "ending": "matches that end without a reason",
    "cap": "caps exceeded by more than the calls in flight",
    "secret": "files that hold a secret",
    "terminal": "outputs with commands to a terminal",
    "traceback": "tracebacks",
    "hang": "hangs",
    "status": "wrong exit statuses, or files left behind",
}


def main(minutes: float, seed: int, only: list[str]) -> int:
    """Attack in turns until the time is up; 1 if a promise broke."""
    found, until = Found(Counter(), []), time.monotonic() + 60 * minutes
    rounds = [(attack, long) for attack, (_, long) in ROUNDS.items()]
    rounds = [one for one in rounds if not only or one[0].__name__ in only]
    for number, (attack, size) in enumerate(cycle(rounds)):
        if time.monotonic() > until:
            break
        started = time.monotonic()
        one = attack(random.Random(f"{seed}/{number}"), size)
        seconds = time.monotonic() - started
        done = ", ".join(f"{count:,} {what}" for what, count in one.done.items())
        print(f"{attack.__name__} ({seed}/{number}, {seconds:.0f} s): {done}", flush=True)
        for breach in one.breaches:
            print(f"  BROKEN {breach.of}: {breach.what}\n", flush=True)
        found += one
    print("\n" + table(found))
    return 1 if found.breaches else 0


def table(found: Found) -> str:
    """What was done, and how often each promise broke."""
    broken = Counter(breach.of for breach in found.breaches)
    rows = [(f"{count:,}", what) for what, count in found.done.items()]
    rows += [(f"{broken[of]:,}", what) for of, what in PROMISES.items()]
    return "\n".join(f"{count:>9}  {what}" for count, what in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="attacks by name")
    chosen = parser.parse_args()
    sys.exit(main(chosen.minutes, chosen.seed, chosen.only))
