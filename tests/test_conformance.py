"""Every registered game keeps every law, and each law catches the game that breaks it."""

import re
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import field_validator

from cheaptalk.conformance import (
    CHECKS,
    SEEDS,
    SPEC_CHECKS,
    Check,
    ConformanceError,
    SpecCheck,
    advice,
    check_answers,
    check_events,
    check_game,
    check_parameters,
    check_processes,
    check_replay,
    check_simultaneous,
    variants,
    verdicts,
)
from cheaptalk.rules import (
    Action,
    Ask,
    DecisionRequest,
    GameSpec,
    Horizon,
    StyleFile,
    games,
    register,
    strategy,
)
from cheaptalk.rules.registry import STRATEGIES
from cheaptalk.styles import CODECS, Codec, JsonCodec, Unparsable
from tests.broken import answers, declarations, privacy, repetition, strategies, whole
from tests.broken.kit import Broken, Short, answering, boxed
from tests.crowds import COLLECTING, GIVING
from tests.toys import SPEC, Cards, Guess, Guessing, GuessNow, SpokenGuess

MANY = [str(number) for number in range(6)]
BRIEF = 0.2
"""Seconds that rules which spin are given."""
FEW = 3
"""Places up to which a game is checked with three seeds; matches of more players are long."""
BROKEN = [
    value
    for module in (declarations, repetition, privacy, answers, strategies, whole)
    for value in vars(module).values()
    if isinstance(value, Broken)
]


CASES = [
    pytest.param(game_spec, game, check, id=f"{game_spec.name}-{label}-{check.__name__}")
    for game_spec in (*games().values(), SPEC, GIVING, COLLECTING)
    for label, game in variants(game_spec).items()
    for check in CHECKS
]


@pytest.mark.parametrize(("game_spec", "game", "check"), CASES)
def test_every_game_keeps_every_law(game_spec: GameSpec, game: Any, check: Check) -> None:
    for seed in MANY[:3] if len(game.seats) <= FEW else MANY[:2]:
        check(game_spec, game, seed)


@pytest.mark.parametrize("check", [check_events, check_parameters])
@pytest.mark.parametrize(
    "game_spec", [*games().values(), SPEC, GIVING, COLLECTING], ids=lambda b: b.name
)
def test_every_game_keeps_every_law_of_a_whole_game(game_spec: GameSpec, check: SpecCheck) -> None:
    check(game_spec, MANY[:1])


@pytest.mark.slow
@pytest.mark.parametrize("game_spec", games().values(), ids=lambda game_spec: game_spec.name)
def test_every_game_is_the_same_in_every_process(game_spec: GameSpec) -> None:
    check_processes(game_spec, MANY[:1])


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.name)
def test_a_broken_game_fails_the_right_law(broken: Broken, tmp_path: Path) -> None:
    failed, message = first_failure(broken.make(tmp_path))
    assert failed.partition(",")[0] == broken.law
    assert message.startswith(f"guessing: {failed}: ")
    assert broken.saying in message


def test_answers_at_once_are_looked_at_only_where_the_rules_end(tmp_path: Path) -> None:
    game_spec = declarations.rules_without_an_end.make(tmp_path)
    with pytest.raises(ConformanceError, match="a match does not end within 10,000 requests"):
        check_simultaneous(game_spec, game_spec.rules(), "1")


def test_a_game_without_an_end_keeps_no_law_of_its_parameters(tmp_path: Path) -> None:
    with pytest.raises(ConformanceError, match="a match does not end within 10,000 requests"):
        check_parameters(declarations.rules_without_an_end.make(tmp_path), ["1"])


def test_what_spins_is_the_last_that_is_checked() -> None:
    (found,) = verdicts(whole.SPINNING, ["1"], limit=BRIEF)
    where = r"guessing: check_seats, defaults, seed 1: \w+.py:\d+"
    assert re.match(rf"{where} is still running after 0.2 seconds without", found.problem or "")
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_a_process_that_spins_is_told_where() -> None:
    with pytest.raises(
        ConformanceError, match=r"failed to play the matches: \w+.py:\d+ is still ru"
    ):
        check_processes(whole.SPINNING, ["1"], limit=BRIEF)


def test_checks_that_meet_one_fault_name_one_cause(tmp_path: Path) -> None:
    game_spec = declarations.unbounded_payoffs.make(tmp_path)
    found = [one for one in verdicts(game_spec, ["1"]) if one.problem]
    assert [one.check for one in found][:2] == ["check_forfeits", "check_payoffs"]
    assert len({one.problem for one in found}) == len(found)
    (cause,) = {one.cause for one in found}
    assert cause is not None
    assert cause.startswith(
        'the payoff of "left" is #, which is not between # and #; fix payoff_bounds()'
    )


def first_failure(game_spec: GameSpec) -> tuple[str, str]:
    """The first check that the box fails, and what it says."""
    for check in CHECKS:
        for seed in MANY:
            try:
                check(game_spec, game_spec.rules(), seed)
            except ConformanceError as error:
                return f"{check.__name__}, defaults, seed {seed}", str(error)
    for spec_check in SPEC_CHECKS:
        try:
            spec_check(game_spec, SEEDS)
        except ConformanceError as error:
            return spec_check.__name__, str(error)
    raise AssertionError("the box keeps every law")


def test_every_law_has_a_game_that_breaks_it() -> None:
    checks = {check.__name__ for check in (*CHECKS, *SPEC_CHECKS)}
    assert checks == {broken.law for broken in BROKEN}


def test_replay_catches_a_question_that_wavers() -> None:
    numbers = count()

    class Wavering(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield Ask("left", Guess, GuessNow(next(numbers)))

    with pytest.raises(ConformanceError, match="replaying 0 answers, the open requests are"):
        check_replay(boxed(Wavering), Wavering(), "1")


DEFAULT = SpokenGuess(number=16, message="default")


class Parrot(JsonCodec):
    """Reads every reply as the same answer."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        return DEFAULT


class Eager(JsonCodec):
    """Makes up an answer where there is none."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        try:
            return super().read(reply, ask, cut_off=cut_off)
        except Unparsable:
            return DEFAULT


class Curt(JsonCodec):
    """Does not say why it refuses."""

    def read(self, reply: str, ask: Ask, *, cut_off: bool = False) -> Action:
        try:
            return super().read(reply, ask, cut_off=cut_off)
        except Unparsable:
            raise Unparsable from None


@pytest.mark.parametrize(
    ("codec", "saying"),
    [
        (Parrot(), 'style "plain" reads \'{"number":'),
        (Eager(), "style \"plain\" reads '' as SpokenGuess(number=16, message='default')"),
        (Curt(), "'' is refused without a reason"),
    ],
)
def test_a_codec_that_guesses_or_is_silent_fails(
    codec: Codec, saying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = type(codec).__name__
    monkeypatch.setitem(CODECS, name, codec)
    game_spec = boxed(Guessing, styles={"plain": StyleFile("guessing.jinja", codec=name)})
    with pytest.raises(ConformanceError) as caught:
        check_answers(game_spec, Guessing(), "1")
    assert saying in str(caught.value)


class Nod(Action):
    """An action with one answer."""

    nod: Literal["yes"]


class Wait(Action):
    """An action without fields."""


@pytest.mark.parametrize("answer", [Nod(nod="yes"), Wait()])
def test_a_question_may_have_a_single_answer(answer: Action, tmp_path: Path) -> None:
    game_spec = answering(type(answer), answer, tmp_path)
    for check in CHECKS:
        check(game_spec, game_spec.rules(), "1")


def test_check_game_passes_a_sound_game_and_stops_at_a_broken_one(tmp_path: Path) -> None:
    check_game(SPEC, seeds=("1",))
    with pytest.raises(ConformanceError, match='the payoff of "left" is 100'):
        check_game(declarations.unbounded_payoffs.make(tmp_path))


def test_games_of_ours_need_no_advice() -> None:
    assert not [one for game_spec in games().values() for one in advice(game_spec)]


def test_what_a_game_leaves_unsaid_is_told_with_what_it_costs() -> None:
    class Mute(Guessing):
        rounds: int = 1

    expected = (
        "Mute has no docstring",
        "Mute has no payoff_unit",
        "payoffs() has no docstring",
        "no docstring below horizon, talk, lenient, target, rounds",
        "rounds has no range",
        "no unit for hits",
    )
    sentences = list(advice(boxed(Mute)))
    assert len(sentences) == len(expected)
    assert all(map(str.startswith, sentences, expected)), sentences


def test_strategies_of_others_are_checked_with_the_game(toys: None) -> None:
    @strategy("left", "right")
    def stubborn(asked: DecisionRequest) -> Action:
        """Guess what nobody may."""
        return Guess(number=0)

    register(stubborn, game="guessing")
    try:
        found = {one.check: one.problem for one in verdicts(SPEC, ("1",)) if one.problem}
    finally:
        STRATEGIES.remove("guessing.stubborn")
    assert 'the answer of "left", by stubborn, to GuessNow' in found["check_strategies"]


def test_variants_change_each_flag_choice_and_horizon() -> None:
    found = variants(SPEC)
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
