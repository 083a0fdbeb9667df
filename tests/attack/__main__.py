"""Run attacks for a given time, and print their counts and the promises that broke.

python -m tests.attack --minutes 60 --seed 1
"""

import argparse
import random
import sys
import time
from collections import Counter
from itertools import cycle

from tests.attack.rounds import ROUNDS, Result

PROMISES = {
    "missing": "requests missing from every store",
    "twice": "requests sent or recorded twice",
    "invented": "answers that the server never sent",
    "tokens": "calls whose tokens differ",
    "ending": "matches that end without a reason",
    "cap": "caps exceeded by more than the calls in flight",
    "secret": "files that contain a secret",
    "terminal": "outputs with terminal control codes",
    "traceback": "tracebacks",
    "hang": "hangs",
    "status": "wrong exit statuses, or files left behind",
}


def main(minutes: float, seed: int, only: list[str]) -> int:
    """Run attacks in turn until the deadline; return 1 if a promise broke."""
    total, deadline = Result(Counter(), []), time.monotonic() + 60 * minutes
    rounds = [(attack, long) for attack, (_, long) in ROUNDS.items()]
    rounds = [entry for entry in rounds if not only or entry[0].__name__ in only]
    for number, (attack, size) in enumerate(cycle(rounds)):
        if time.monotonic() > deadline:
            break
        started = time.monotonic()
        result = attack(random.Random(f"{seed}/{number}"), size)
        seconds = time.monotonic() - started
        done = ", ".join(f"{count:,} {what}" for what, count in result.done.items())
        print(f"{attack.__name__} ({seed}/{number}, {seconds:.0f} s): {done}", flush=True)
        for breach in result.breaches:
            print(f"  BROKEN {breach.of}: {breach.what}\n", flush=True)
        total += result
    print("\n" + table(total))
    return 1 if total.breaches else 0


def table(total: Result) -> str:
    """Return the counts and the number of breaches of each promise as a table."""
    broken = Counter(breach.of for breach in total.breaches)
    rows = [(f"{count:,}", what) for what, count in total.done.items()]
    rows += [(f"{broken[of]:,}", what) for of, what in PROMISES.items()]
    return "\n".join(f"{count:>9}  {what}" for count, what in rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="attacks by name")
    chosen = parser.parse_args()
    sys.exit(main(chosen.minutes, chosen.seed, chosen.only))
