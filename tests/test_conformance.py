"""Every registered game keeps every law, and each law catches the game that breaks it."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pydantic import field_validator

from cheaptalk.conformance import (
    CHECKS,
    Check,
    ConformanceError,
    check_game,
    check_replay,
    variants,
)
from cheaptalk.rules import Ask, GameBox, Horizon, games
from tests.broken import answers, declarations, privacy, repetition
from tests.broken.kit import Broken, Short, boxed
from tests.toys import BOX, Cards, Guess, Guessing, GuessNow

SEEDS = [str(number) for number in range(6)]
BROKEN = [
    value
    for module in (declarations, repetition, privacy, answers)
    for value in vars(module).values()
    if isinstance(value, Broken)
]


CASES = [
    pytest.param(box, game, check, id=f"{box.name}-{label}-{check.__name__}")
    for box in (*games().values(), BOX)
    for label, game in variants(box).items()
    for check in CHECKS
]


@pytest.mark.parametrize(("box", "game", "check"), CASES)
def test_every_game_keeps_every_law(box: GameBox, game: Any, check: Check) -> None:
    for seed in SEEDS:
        check(box, game, seed)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_game_fails_the_right_law(broken: Broken, tmp_path: Path) -> None:
    failed, message = first_failure(broken.make(tmp_path))
    assert failed == broken.law
    assert message.startswith("guessing: ")
    assert broken.saying in message


def first_failure(box: GameBox) -> tuple[str, str]:
    """The first check that the box fails, and what it says."""
    for check in CHECKS:
        for seed in SEEDS:
            try:
                check(box, box.rules(), seed)
            except ConformanceError as error:
                return check.__name__, str(error)
    raise AssertionError("the box keeps every law")


def test_every_law_has_a_game_that_breaks_it() -> None:
    assert {check.__name__ for check in CHECKS} == {broken.law for broken in BROKEN}


def test_replay_catches_a_question_that_wavers() -> None:
    numbers = count()

    class Wavering(Short):
        def rest(self, deal: Cards) -> Iterator[Any]:
            yield Ask("left", Guess, GuessNow(next(numbers)))

    with pytest.raises(ConformanceError, match="replaying 0 answers, the open questions are"):
        check_replay(boxed(Wavering), Wavering(), "1")


def test_check_game_passes_a_sound_game_and_stops_at_a_broken_one(tmp_path: Path) -> None:
    check_game(BOX, seeds=("1",))
    with pytest.raises(ConformanceError, match="out of"):
        check_game(declarations.unbounded_payoffs.make(tmp_path))


def test_variants_change_each_flag_choice_and_horizon() -> None:
    found = variants(BOX)
    assert list(found) == [
        "defaults",
        "horizon: rounds=1 hidden=False",
        "horizon: rounds=3 hidden=False",
        "horizon: rounds=5 hidden=True",
        "talk: False",
        "lenient: True",
        "target: product",
    ]
    assert found["defaults"] == Guessing()
    assert found["horizon: rounds=5 hidden=True"] == Guessing(
        horizon=Horizon(rounds=5, hidden=True)
    )


def test_variants_leave_out_what_the_game_refuses() -> None:
    class Talking(Guessing):
        @field_validator("talk")
        @classmethod
        def _always(cls, talk: bool) -> bool:
            if not talk:
                raise ValueError("they must talk")
            return talk

    found = variants(boxed(Talking))
    assert "talk: False" not in found
    assert "lenient: True" in found
