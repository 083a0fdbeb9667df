"""Language models in self-play: games a second, all at once and one by one; tokens learned from."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cheaptalk as ct
from bench.rows import Row
from cheaptalk.records import Store
from cheaptalk.records.exports.chats import chats

GAMES = 500
FEW = 40
RATE = 50.0
"""Games a second that were asked for, of a model of a million parameters."""
PLAYER: dict[str, Any] = {"style": "tagged", "temperature": 1.0, "max_tokens": 200}


def rows() -> Iterator[Row]:
    """A model of a million parameters that learned from scripted negotiators for two minutes."""
    from cheaptalk.learning.language import Step  # noqa: PLC0415 - an extra

    with tempfile.TemporaryDirectory() as aside:
        folder = Path(aside)
        said = spoken(folder)
        steps: list[tuple[float, Step]] = []
        began = time.perf_counter()
        training = ct.learning.language.TRAINING.model_copy(
            update={"epochs": 2, "batch": 16, "rate": 1e-3}
        )
        ct.learning.language.pretrain(
            said, folder / "model", training=training,
            progress=lambda step: steps.append((time.perf_counter() - began, step)),
        )  # fmt: skip
        (first, one), (last, other) = steps[0], steps[-1]
        rate = 16 * (other.done - one.done) / (last - first)
        yield Row("training a model of a million parameters", rate, "chats/s", None,
                  "Deal or No Deal, some 160 tokens each")  # fmt: skip
        play(folder, "warm", 2, 2)
        alone = FEW / play(folder, "alone", FEW, 1)
        yield Row("its self-play, one game at a time", alone, "games/s", None, f"{FEW} games")
        together = GAMES / play(folder, "together", GAMES, GAMES)
        yield Row("its self-play, all games at once", together, "games/s", (">=", RATE),
                  f"{GAMES} games, stored, {together / alone:.0f} times as fast")  # fmt: skip


def spoken(folder: Path) -> list[list[dict[str, str]]]:
    """What honest negotiators say to each other."""
    study = ct.studies.parse_study({
        "name": "said", "deals": 3_000, "games": [{"game": "deal_or_no_deal"}],
        "players": {"honest": "honest"}, "pairing": "self",
    }, "bench")  # fmt: skip
    with Store.open(folder / "said.sqlite", create=True) as store:
        ct.run(study, store)
        return [
            chat.as_json()["messages"]
            for record in store.records("said", bodies=True)
            for chat in chats(record, "tagged")
        ]


def play(folder: Path, name: str, games: int, at_once: int) -> float:
    """Seconds that a study of the model's self-play takes."""
    study = ct.studies.parse_study({
        "name": name, "deals": games, "games": [{"game": "deal_or_no_deal"}],
        "players": {"model": {**PLAYER, "model": f"hf/{folder / 'model'}"}}, "pairing": "self",
    }, "bench")  # fmt: skip
    began = time.perf_counter()
    ct.run(study, folder / f"{name}.sqlite", concurrency=at_once)
    return time.perf_counter() - began
