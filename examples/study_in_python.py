"""Plan, run and analyse a study without a study file.

python examples/study_in_python.py            # in a temporary store
python examples/study_in_python.py my.sqlite  # in a permanent store; run it twice
"""

import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import mean

import cheaptalk as ct

STUDY = {
    "name": "patience",
    "description": "How much does an impatient player lose to a patient one?",
    "seed": 7,
    "instances": 10,
    "games": [
        {
            "game": "bargaining",
            "fixed": {"money": 100, "horizon": {"rounds": 99, "hidden": True}},
            "grid": {"discounts": [[0.8, 0.95], [0.95, 0.8]]},
        }
    ],
    "players": {
        "equilibrium": {"strategy": "subgame_perfect"},
        "firm": {"strategy": "fixed_demand", "share": 0.6},
        "chance": {"strategy": "random"},
    },
}


def main(path: Path) -> None:
    """Play missing matches, and print Alice's mean payoff by configuration and pairing."""
    study = ct.studies.parse_study(STUDY, "study_in_python.py")
    print(f"{len(ct.plan(study).matches)} matches planned")
    with ct.Store.open(path, create=True) as store:
        progress = ct.run(study, store)
        print(f"{progress.before} matches before this run, {progress.done - progress.before} now")
        gains = defaultdict(list)
        for record in store.records(study.name):
            if record.payoffs is not None:
                cell = (str(record.parameters["discounts"]), *map(record.label, record.seats))
                gains[cell].append(record.payoffs["alice"])
    for (discounts, alice, bob), dollars in sorted(gains.items()):
        count = f"over {len(dollars)} matches"
        print(f"{discounts}  {alice:<12}{bob:<12}{mean(dollars):>8.2f}  {count}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder) / "store.sqlite")
