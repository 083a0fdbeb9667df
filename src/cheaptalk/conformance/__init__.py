"""The conformance kit: laws that every game keeps, as checks to run on one's own.

Run them all with :func:`check_game`, or at the terminal with ``cheaptalk check GAME``, or each as a
test of its own::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("game", variants(BOX).values(), ids=variants(BOX))
    def test_my_game(game, check):
        check(BOX, game, "any seed")

A check plays matches between ``random`` strategies, drawn by the seed, and raises
:class:`ConformanceError` where a law is broken. Those of ``BOX_CHECKS`` look at a game as a whole:
``check(BOX, SEEDS)``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from cheaptalk.conformance.answers import check_answers, check_forfeits, check_schemas
from cheaptalk.conformance.declarations import (
    check_json,
    check_measures,
    check_payoffs,
    check_seats,
    check_series,
    check_words,
)
from cheaptalk.conformance.events import check_events
from cheaptalk.conformance.extremes import check_extremes
from cheaptalk.conformance.matches import (
    BoxLaw,
    ConformanceError,
    Law,
    OutOfTime,
    random_moves,
    root_cause,
    variants,
)
from cheaptalk.conformance.omissions import advice
from cheaptalk.conformance.privacy import check_secrets, check_simultaneous
from cheaptalk.conformance.processes import box_at, check_processes
from cheaptalk.conformance.repetition import check_replay, check_same_seed
from cheaptalk.conformance.settings import check_parameters
from cheaptalk.conformance.strategies import check_memory, check_strategies
from cheaptalk.conformance.talk import check_talk
from cheaptalk.conformance.time_limit import LIMIT
from cheaptalk.rules import GameBox, games

CHECKS: tuple[Law, ...] = (
    check_seats,
    check_words,
    check_same_seed,
    check_replay,
    check_simultaneous,
    check_secrets,
    check_schemas,
    check_answers,
    check_forfeits,
    check_payoffs,
    check_measures,
    check_series,
    check_json,
    check_talk,
    check_strategies,
    check_memory,
    check_extremes,
)
"""Every law of a single setting, the simplest first."""
BOX_CHECKS: tuple[BoxLaw, ...] = (check_parameters, check_events, check_processes)
"""Every law of a game as a whole."""
SEEDS = ("1", "2", "3")


class Verdict(NamedTuple):
    """What became of a check.

    Attributes:
        check: its name.
        law: what it checks, in one line.
        problem: the first thing that it found, with where and how; None if nothing.
        cause: what that comes from, without its numbers: checks that met the same have the same.
    """

    check: str
    law: str
    problem: str | None
    cause: str | None


def verdicts(
    box: GameBox, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT
) -> Iterator[Verdict]:
    """Run every check on a game, one after the other, in every variant and with each seed.

    What other packages register for the game is checked with it, such as their strategies. A check
    that does not come to an end is the last.

    Args:
        limit: seconds that the game's code may take from one answer to the next; 0 for any.
    """
    whole = games().get(box.name)
    box = whole if whole is not None and whole.rules is box.rules else box
    for check, runs in _planned(box, seeds, limit):
        error = _first_error(runs)
        law = (inspect.getdoc(check) or "").partition("\n")[0].replace("`", "")
        found = (None, None) if error is None else (str(error), _cause(box.name, error))
        yield Verdict(check.__name__, law, *found)
        if isinstance(error, OutOfTime):
            return


def _planned(
    box: GameBox, seeds: Sequence[str], limit: float
) -> Iterator[tuple[Law | BoxLaw, list[Callable[[], None]]]]:
    """Every check, to be run in every setting and with each seed."""
    pairs = list(product(variants(box).values(), seeds))
    for check in CHECKS:
        yield check, [partial(check, box, game, seed, limit=limit) for game, seed in pairs]
    for box_check in BOX_CHECKS:
        yield box_check, [partial(box_check, box, seeds, limit=limit)]


def _first_error(runs: Iterable[Callable[[], None]]) -> ConformanceError | None:
    try:
        for run in runs:
            run()
    except ConformanceError as error:
        return error
    return None


def _cause(game: str, error: ConformanceError) -> str:
    """The error from which all came, without numbers, which differ from match to match."""
    told = root_cause(error).replace(f"{game}: ", "")
    return re.sub(r"-?\d+([.,]\d+)*(e[+-]?\d+)?", "#", told)


def check_game(box: GameBox, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT) -> None:
    """Run every check on a game, in every variant and with each seed, as :func:`verdicts` does.

    Raises:
        ConformanceError: the first law that the game breaks, with where and how.
    """
    for verdict in verdicts(box, seeds, limit=limit):
        if verdict.problem is not None:
            raise ConformanceError(verdict.problem)


__all__ = [
    "BOX_CHECKS",
    "CHECKS",
    "SEEDS",
    "BoxLaw",
    "ConformanceError",
    "Law",
    "Verdict",
    "advice",
    "box_at",
    "check_answers",
    "check_events",
    "check_extremes",
    "check_forfeits",
    "check_game",
    "check_json",
    "check_measures",
    "check_memory",
    "check_parameters",
    "check_payoffs",
    "check_processes",
    "check_replay",
    "check_same_seed",
    "check_schemas",
    "check_seats",
    "check_secrets",
    "check_series",
    "check_simultaneous",
    "check_strategies",
    "check_talk",
    "check_words",
    "random_moves",
    "variants",
    "verdicts",
]  # fmt: skip
