"""A study of persuasion between two seats of one model, in a process of its own.

    python -m bench.live_study URL MATCHES AT_ONCE STORE

Every match is of ten rounds, and so takes twenty calls.
"""

import sys
from pathlib import Path

import cheaptalk as ct
from bench.measuring import measured
from cheaptalk.models import clients as connect  # noqa: F401 - loaded before the clock starts

ROUNDS = 10
CALLS = 2 * ROUNDS


def study(url: str, matches: int) -> ct.Study:
    """So many matches of the model with itself."""
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


def main(url: str, matches: int, at_once: int, path: Path) -> None:
    """Play the study into a new store, and say what it took."""
    with ct.Store.open(path, create=True) as store:
        played = study(url, matches)

        def work() -> int:
            progress = ct.studies.run(played, store, concurrency=at_once)
            assert progress.left == progress.failed == 0, progress.problems
            return sum(record.calls for record in store.records())

        measured(work)


if __name__ == "__main__":
    url, matches, at_once, path = sys.argv[1:]
    main(url, int(matches), int(at_once), Path(path))
