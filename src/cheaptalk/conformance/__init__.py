"""The conformance kit: laws that every game must satisfy, as checks for your own games.

Run them all with :func:`check_game`, or at the terminal with ``cheaptalk game check GAME``, or each
as a separate test::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("game", variants(SPEC).values(), ids=variants(SPEC))
    def test_my_game(game, check):
        check(SPEC, game, "any seed")

A check plays matches between ``random`` strategies, drawn with the seed, and raises
:class:`ConformanceError` if a law is violated. Those of ``SPEC_CHECKS`` check a game as a whole:
``check(SPEC, SEEDS)``.
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
    check_metrics,
    check_payoffs,
    check_seats,
    check_series,
    check_words,
)
from cheaptalk.conformance.events import check_events
from cheaptalk.conformance.extremes import check_extremes
from cheaptalk.conformance.matches import (
    ConformanceError,
    Law,
    OutOfTime,
    SpecLaw,
    random_moves,
    root_cause,
    variants,
)
from cheaptalk.conformance.omissions import advice
from cheaptalk.conformance.privacy import check_secrets, check_simultaneous
from cheaptalk.conformance.processes import check_processes, spec_at
from cheaptalk.conformance.repetition import check_replay, check_same_seed
from cheaptalk.conformance.settings import check_parameters
from cheaptalk.conformance.strategies import check_memory, check_strategies
from cheaptalk.conformance.talk import check_talk
from cheaptalk.conformance.time_limit import LIMIT
from cheaptalk.rules import GameSpec, games

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
    check_metrics,
    check_series,
    check_json,
    check_talk,
    check_strategies,
    check_memory,
    check_extremes,
)
"""All laws of a single configuration, the simplest first."""
SPEC_CHECKS: tuple[SpecLaw, ...] = (check_parameters, check_events, check_processes)
"""All laws of a game as a whole."""
SEEDS = ("1", "2", "3")


class Verdict(NamedTuple):
    """The result of a check.

    Attributes:
        check: its name.
        law: what it checks, in one line.
        problem: the first violation, with its location and reason; None if there is none.
        cause: the cause of the problem, without its numbers, so that checks with the same cause
            match.
    """

    check: str
    law: str
    problem: str | None
    cause: str | None


def verdicts(
    game_spec: GameSpec, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT
) -> Iterator[Verdict]:
    """Run every check on a game, in every variant and with each seed.

    Parts that other packages register for the game, such as strategies, are checked with it. A
    check that does not finish is the last.

    Args:
        limit: maximum seconds of the game's code from one answer to the next; 0 for no limit.
    """
    registered = games().get(game_spec.name)
    game_spec = (
        registered if registered is not None and registered.rules is game_spec.rules else game_spec
    )
    for check, runs in _planned(game_spec, seeds, limit):
        error = _first_error(runs)
        law = (inspect.getdoc(check) or "").partition("\n")[0].replace("`", "")
        problem = (None, None) if error is None else (str(error), _cause(game_spec.name, error))
        yield Verdict(check.__name__, law, *problem)
        if isinstance(error, OutOfTime):
            return


def _planned(
    game_spec: GameSpec, seeds: Sequence[str], limit: float
) -> Iterator[tuple[Law | SpecLaw, list[Callable[[], None]]]]:
    """Yield every check with its runs, one for each configuration and seed."""
    pairs = list(product(variants(game_spec).values(), seeds))
    for check in CHECKS:
        yield check, [partial(check, game_spec, game, seed, limit=limit) for game, seed in pairs]
    for spec_check in SPEC_CHECKS:
        yield spec_check, [partial(spec_check, game_spec, seeds, limit=limit)]


def _first_error(runs: Iterable[Callable[[], None]]) -> ConformanceError | None:
    try:
        for run in runs:
            run()
    except ConformanceError as error:
        return error
    return None


def _cause(game: str, error: ConformanceError) -> str:
    """Return the root error, without numbers, which differ from match to match."""
    message = root_cause(error).replace(f"{game}: ", "")
    return re.sub(r"-?\d+([.,]\d+)*(e[+-]?\d+)?", "#", message)


def check_game(game_spec: GameSpec, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT) -> None:
    """Run every check on a game, in every variant and with each seed, as :func:`verdicts` does.

    Raises:
        ConformanceError: the first law that the game violates, with its location and reason.
    """
    for verdict in verdicts(game_spec, seeds, limit=limit):
        if verdict.problem is not None:
            raise ConformanceError(verdict.problem)


__all__ = [
    "CHECKS",
    "SEEDS",
    "SPEC_CHECKS",
    "ConformanceError",
    "Law",
    "SpecLaw",
    "Verdict",
    "advice",
    "check_answers",
    "check_events",
    "check_extremes",
    "check_forfeits",
    "check_game",
    "check_json",
    "check_memory",
    "check_metrics",
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
    "spec_at",
    "variants",
    "verdicts",
]  # fmt: skip
