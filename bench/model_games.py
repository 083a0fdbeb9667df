"""Valid answers of a pretrained model in all games, with and without schemas.

python -m bench.model_games                   # all games, both kinds of answers: hours on a CPU
python -m bench.model_games schema bargaining
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.rules import games

MODEL = "smollm2"
MATCHES = 20
ROUNDS = 5
"""Rounds of the games that repeat the same decisions, to save time."""
REQUIRED = 0.9
"""Required share of answers that are valid at the first attempt, with schemas."""


def rows() -> Iterator[Row]:
    """Yield the share of valid first attempts in each game."""
    for answers in ("schema", "text"):
        for game in games():
            yield from measure(answers, game)


def measure(answers: str, game: str) -> Iterator[Row]:
    """Play matches of one game; yield the share of valid first attempts and of repaired ones."""
    began = time.process_time()
    kinds = play(answers, game)
    seconds = time.process_time() - began
    total, failed = kinds.total(), kinds.total() - kinds["ok"]
    note = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    goal = (">=", REQUIRED) if answers == "schema" else None
    title = f"{MODEL}, {answers}, {game}: valid at the first attempt"
    yield Row(title, kinds["ok"] / total, "", goal, f"{note}; {seconds:.0f} CPU s")
    if failed:
        title = f"{MODEL}, {answers}, {game}: repaired by a retry"
        yield Row(title, kinds["repaired"] / failed, "of invalid answers", None)


def play(answers: str, game: str) -> Counter[str]:
    """Play a game against a random player, and return the model's answers by kind."""
    rules = ct.get_game(game).rules()
    many = len(rules.seats) > 2
    length = "horizon" if game == "persuasion" else "rounds"
    rounds = {length: ROUNDS} if getattr(rules, length, 0) > ROUNDS else {}
    pairing: Any = [{"lm": 1, "random": len(rules.seats) - 1}] if many else [["lm", "random"]]
    study = ct.Study(
        name="model-games",
        games=[{"game": game, "fixed": rounds}],
        players={"lm": {"model": MODEL, "answers": answers}, "random": "random"},
        pairing=pairing,
        instances=MATCHES,
    )
    with TemporaryDirectory() as folder:
        progress = ct.run(study, Path(folder) / "games.sqlite", progress=None)
    return Counter({str(kind): count for kind, count in progress.kinds["lm"].items()})


def main(arguments: list[str]) -> None:
    """Print the figures of the given kinds of answers and games."""
    kinds = [name for name in arguments if name in ("schema", "text")] or ["schema", "text"]
    names = [name for name in arguments if name not in kinds] or [*games()]
    for answers in kinds:
        for game in names:
            for row in measure(answers, game):
                print(f"{row.title}: {row.value:.1%} ({row.note})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
