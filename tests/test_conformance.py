"""Every registered game passes every check, and each check detects games that break it."""

import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from itertools import count, product
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import field_validator

import cheaptalk as ct
from cheaptalk.conformance import (
    CHECKS,
    SEEDS,
    SPEC_CHECKS,
    ConformanceError,
    advice,
    check_answers,
    check_events,
    check_game,
    check_parameters,
    check_processes,
    check_replay,
    variants,
    verdicts,
)
from cheaptalk.rules.registry import STRATEGIES
from cheaptalk.styles import CODECS, Codec, JsonCodec, Unparsable
from tests.broken import answers, declarations, privacy, repetition, strategies, whole
from tests.broken.kit import Short, answering, boxed, brokens, returning
from tests.crowds import COLLECTING, GIVING
from tests.games.tables import small
from tests.toys import SPEC, Cards, Guess, Guessing, GuessNow, SpokenGuess

MATCH_SEEDS = ["0", "1", "2"]
TIME_LIMIT = 0.2
"""Time limit in seconds of rules that never return."""
BROKEN = {
    module.__name__.rpartition(".")[2]: brokens(module)
    for module in (answers, declarations, privacy, repetition, strategies, whole)
}
SPECS = (*ct.rules.games().values(), SPEC, GIVING, COLLECTING)
each_spec = pytest.mark.parametrize("game_spec", SPECS, ids=lambda game_spec: game_spec.name)


@each_spec
def test_every_game_passes_every_check(game_spec: ct.GameSpec) -> None:
    for label, game in variants(game_spec).items():
        for check, seed in product(CHECKS, MATCH_SEEDS[: 2 if label == "defaults" else 1]):
            check(game_spec, small(game), seed)
    for spec_check in (check_events, check_parameters):
        spec_check(game_spec, MATCH_SEEDS[:1])


@pytest.mark.slow
@each_spec
def test_every_game_passes_every_check_in_long_matches(game_spec: ct.GameSpec) -> None:
    for game in variants(game_spec).values():
        for check, seed in product(CHECKS, MATCH_SEEDS[: 3 if len(game.seats) <= 3 else 2]):
            check(game_spec, game, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "game_spec", ct.rules.games().values(), ids=lambda game_spec: game_spec.name
)
def test_games_are_reproducible_across_processes(game_spec: ct.GameSpec) -> None:
    check_processes(game_spec, MATCH_SEEDS[:1])


@pytest.mark.parametrize("module", BROKEN)
def test_broken_game_fails_the_expected_law(module: str, tmp_path: Path) -> None:
    for number, broken in enumerate(BROKEN[module]):
        folder = tmp_path / str(number)
        folder.mkdir()
        failed, message = first_failure(broken.make(folder))
        assert failed.partition(",")[0] == broken.check, broken.saying
        assert message.startswith(f"guessing: {failed}: ")
        assert broken.saying in message


def test_parameter_check_rejects_endless_rules(tmp_path: Path) -> None:
    with pytest.raises(ConformanceError, match="a match does not end within 10,000 requests"):
        check_game(declarations.rules_without_an_end.make(tmp_path), ["1"])


def test_checks_stop_after_a_timeout() -> None:
    (verdict,) = verdicts(whole.SPINNING, ["1"], limit=TIME_LIMIT)
    where = r"guessing: check_seats, defaults, seed 1: \w+.py:\d+"
    assert re.match(rf"{where} is still running after 0.2 seconds without", verdict.problem or "")
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_hanging_process_is_located() -> None:
    with pytest.raises(
        ConformanceError, match=r"failed to play the matches: \w+.py:\d+ is still ru"
    ):
        check_processes(whole.SPINNING, ["1"], limit=TIME_LIMIT)


def test_checks_report_a_common_cause() -> None:
    game_spec = returning(payoffs={"left": 100.0, "right": 0.0})
    failures = [verdict for verdict in verdicts(game_spec, ["1"]) if verdict.problem]
    assert [failure.check for failure in failures][:2] == ["check_forfeits", "check_payoffs"]
    assert len({failure.problem for failure in failures}) == len(failures)
    (cause,) = {failure.cause for failure in failures}
    assert cause is not None
    assert cause.startswith(
        'the payoff of "left" is #, which is not between # and #; fix payoff_bounds()'
    )


def first_failure(game_spec: ct.GameSpec) -> tuple[str, str]:
    """Return the first check that a game spec fails, and its message."""
    for check in CHECKS:
        for seed in MATCH_SEEDS[:2]:
            try:
                check(game_spec, game_spec.rules(), seed)
            except ConformanceError as error:
                return f"{check.__name__}, defaults, seed {seed}", str(error)
    for spec_check in SPEC_CHECKS:
        try:
            spec_check(game_spec, SEEDS)
        except ConformanceError as error:
            return spec_check.__name__, str(error)
    raise AssertionError("the game spec passes every check")


def test_every_check_has_a_game_that_fails_it() -> None:
    checks = {check.__name__ for check in (*CHECKS, *SPEC_CHECKS)}
    assert checks == {broken.check for cases in BROKEN.values() for broken in cases}


def test_replay_check_detects_changing_requests() -> None:
    numbers = count()

    class Wavering(Short):
        def rest(self, instance: Cards) -> Iterator[Any]:
            yield ct.Ask("left", Guess, GuessNow(next(numbers)))

    with pytest.raises(ConformanceError, match="replaying 0 answers, the open requests are"):
        check_replay(boxed(Wavering), Wavering(), "1")


DEFAULT = SpokenGuess(number=16, message="default")


class Inventing(JsonCodec):
    """Invents an answer for every reply, or only for replies that have none."""

    def __init__(self, *, always: bool) -> None:
        self.always = always

    def read(self, reply: str, ask: ct.Ask, *, cut_off: bool = False) -> ct.Action:
        with suppress(Unparsable):
            answer = super().read(reply, ask, cut_off=cut_off)
            return DEFAULT if self.always else answer
        return DEFAULT


class Curt(JsonCodec):
    """Rejects replies without a reason."""

    def read(self, reply: str, ask: ct.Ask, *, cut_off: bool = False) -> ct.Action:
        try:
            return super().read(reply, ask, cut_off=cut_off)
        except Unparsable:
            raise Unparsable from None


@pytest.mark.parametrize(
    ("codec", "expected"),
    [
        (Inventing(always=True), 'style "plain" reads \'{"number":'),
        (
            Inventing(always=False),
            "style \"plain\" reads '' as SpokenGuess(number=16, message='default')",
        ),
        (Curt(), "'' is refused without a reason"),
    ],
)
def test_unreliable_codecs_fail(
    codec: Codec, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"unreliable {id(codec)}"
    monkeypatch.setitem(CODECS, name, codec)
    style = ct.rules.StyleFile("guessing.jinja", codec=name)
    with pytest.raises(ConformanceError) as caught:
        check_answers(boxed(Guessing, styles={"plain": style}), Guessing(), "1")
    assert expected in str(caught.value)


class Nod(ct.Action):
    """An action with one answer."""

    nod: Literal["yes"]


class Wait(ct.Action):
    """An action without fields."""


@pytest.mark.parametrize("answer", [Nod(nod="yes"), Wait()])
def test_requests_may_have_a_single_answer(answer: ct.Action, tmp_path: Path) -> None:
    game_spec = answering(type(answer), answer, tmp_path)
    for check in CHECKS:
        check(game_spec, game_spec.rules(), "1")


def test_built_in_games_need_no_advice() -> None:
    assert not [
        sentence for game_spec in ct.rules.games().values() for sentence in advice(game_spec)
    ]


def test_advice_lists_missing_documentation() -> None:
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


def test_registered_strategies_are_checked(toys: None) -> None:
    @ct.strategy("left", "right")
    def stubborn(request: ct.DecisionRequest) -> ct.Action:
        """Make an illegal guess."""
        return Guess(number=0)

    ct.register(stubborn, game="guessing")
    try:
        problem = next(item.problem for item in verdicts(SPEC, ("1",)) if item.problem)
    finally:
        STRATEGIES.remove("guessing.stubborn")
    assert 'the answer of "left", by stubborn, to GuessNow' in problem


def test_variants_change_each_flag_choice_and_horizon() -> None:
    games_by_label = variants(SPEC)
    assert list(games_by_label) == [
        "defaults",
        "horizon: rounds=1 hidden=False",
        "horizon: rounds=3 hidden=False",
        "horizon: rounds=5 hidden=True",
        "talk: False",
        "lenient: True",
        "target: product",
    ]
    assert games_by_label["defaults"] == Guessing()
    assert games_by_label["horizon: rounds=5 hidden=True"] == Guessing(
        horizon=ct.rules.Horizon(rounds=5, hidden=True)
    )

    class Talking(Guessing):
        @field_validator("talk")
        @classmethod
        def _always(cls, talk: bool) -> bool:
            if not talk:
                raise ValueError("they must talk")
            return talk

    assert list(games_by_label.keys() - variants(boxed(Talking))) == ["talk: False"]
