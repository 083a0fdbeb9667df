"""2,000 matches of Deal or No Deal and of GLEE while a tenth of all sendings go wrong.

    python -m bench.hostile --deals 250 --share 0.1 --kills 5

They are played through, then killed and resumed, then under a budget of half of what they take;
each time our books are held against the server's account, call by call.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path

from tests.fakes import Server
from tests.hostile import Hostile
from tests.hostile_study import DEADLINE, Books, Run, audit, studies


def main(deals: int, share: float, kills: int) -> None:
    """Play the studies in three ways and audit each."""
    luck = random.Random(5)  # noqa: S311 - keeps no secrets
    total = 0
    for way in ("through", "killed", "half the budget"):
        hostile = Hostile(share, delay=0.02, late=2 * DEADLINE)
        started = time.monotonic()
        with Server(handler=hostile) as server, tempfile.TemporaryDirectory() as name:
            folder, store = Path(name), Path(name) / "hostile.sqlite"
            files, calls = studies(server.url, folder, deals), total // (2 * kills)
            for number in range(kills if way == "killed" else 0):
                Run(files[number % 2], store, "cheaptalk").kill(server, luck.randrange(calls))
            if way == "half the budget":
                for file in studies(server.url, folder, deals, budget={"calls": total // 4}):
                    before = len(server.calls)
                    said = Run(file, store, "cheaptalk").finish(status=1)
                    print(f"  {len(server.calls) - before:,} of {total // 4:,} calls: {said}")
                studies(server.url, folder, deals)
            for file in files:
                Run(file, store, "cheaptalk").finish()
            total = len(server.calls)
            books = Books.read(store)
        sums = audit(books, hostile.account)
        print(f"{way}: {dict(books.statuses)} in {time.monotonic() - started:.0f} s")
        print(f"  {total:,} sendings: {dict(hostile.done.most_common())}")
        print(f"  tokens in replies {sums.had:,}, billed and never read {sums.lost:,}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deals", type=int, default=250)
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--kills", type=int, default=5)
    chosen = parser.parse_args()
    main(chosen.deals, chosen.share, chosen.kills)
