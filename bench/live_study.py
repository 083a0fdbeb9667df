"""Self-play study of persuasion with one model, run in a separate process.

    python -m bench.live_study URL MATCHES CONCURRENCY STORE

Every match has ten rounds and takes twenty calls.
"""

import sys
from pathlib import Path

import cheaptalk as ct
from bench.measuring import measured
from cheaptalk.models import clients as connect  # noqa: F401 - imported before the measurement

ROUNDS = 10
CALLS = 2 * ROUNDS


def study(url: str, matches: int) -> ct.Study:
    """Return a study with ``matches`` self-play matches of the model at ``url``."""
    return ct.studies.parse_study(
        {
            "name": "live",
            "games": [{"game": "persuasion", "fixed": {"signal": "binary", "horizon": ROUNDS}}],
            "players": {"model": {"model": f"vllm/instant@{url}"}},
            "pairing": "self",
            "instances": matches,
        },
        "live.yaml",
    )


def main(url: str, matches: int, concurrency: int, path: Path) -> None:
    """Play the study into a new store, and print the resources that it used."""
    with ct.Store.open(path, create=True) as store:
        planned = study(url, matches)

        def work() -> int:
            progress = ct.studies.run(planned, store, concurrency=concurrency)
            assert progress.left == progress.failed == 0, progress.problems
            return sum(record.calls for record in store.records())

        measured(work)


if __name__ == "__main__":
    url, matches, concurrency, path = sys.argv[1:]
    main(url, int(matches), int(concurrency), Path(path))
