"""The conformance kit: checks of the requirements that every game must satisfy.

Run all checks with :func:`check_game`, or in a terminal with ``cheaptalk game check GAME``. To run
each check as a separate test, write::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    @pytest.mark.parametrize("game", variants(SPEC).values(), ids=variants(SPEC))
    def test_my_game(game, check):
        check(SPEC, game, "any seed")

Each check plays matches between ``random`` strategies with the seed, and raises
:class:`ConformanceError` if the game fails the check. The checks in ``SPEC_CHECKS`` take several
seeds and choose the configurations themselves: ``check(SPEC, SEEDS)``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from cheaptalk.conformance.answers import check_answers, check_forfeits, check_schemas
from cheaptalk.conformance.assessments import check_assessment
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
    Check,
    ConformanceError,
    OutOfTime,
    SpecCheck,
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

CHECKS: tuple[Check, ...] = (
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
    check_assessment,
    check_json,
    check_talk,
    check_strategies,
    check_memory,
    check_extremes,
)
"""The checks of a single configuration, the simplest first."""
SPEC_CHECKS: tuple[SpecCheck, ...] = (check_parameters, check_events, check_processes)
"""The checks across all configurations of a game."""
SEEDS = ("1", "2", "3")


class Verdict(NamedTuple):
    """The result of a conformance check.

    Attributes:
        check: the check's name.
        requirement: what the check tests, in one sentence.
        problem: the first violation, with its location and reason; None if the game passes.
        cause: the root cause without numbers, by which equal causes of several checks are found.
    """

    check: str
    requirement: str
    problem: str | None
    cause: str | None


def verdicts(
    game_spec: GameSpec, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT
) -> Iterator[Verdict]:
    """Run every check on a game, in every variant and with each seed.

    Parts that other packages register for the game, such as strategies, are included. If a check
    exceeds the time limit, the remaining checks are skipped.

    Args:
        limit: maximum seconds of the game's code from one answer to the next; 0 for no limit.
    """
    registered = games().get(game_spec.name)
    if registered is not None and registered.rules is game_spec.rules:
        game_spec = registered
    for check, runs in _planned(game_spec, seeds, limit):
        error = _first_error(runs)
        requirement = (inspect.getdoc(check) or "").partition("\n")[0].replace("`", "")
        problem = (None, None) if error is None else (str(error), _cause(game_spec.name, error))
        yield Verdict(check.__name__, requirement, *problem)
        if isinstance(error, OutOfTime):
            return


def _planned(
    game_spec: GameSpec, seeds: Sequence[str], limit: float
) -> Iterator[tuple[Check | SpecCheck, list[Callable[[], None]]]]:
    """Yield each check with the functions that run it for each configuration and seed."""
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
    """Return the message of the root cause, without the numbers, which differ between matches."""
    return re.sub(r"-?\d+([.,]\d+)*(e[+-]?\d+)?", "#", root_cause(error).replace(f"{game}: ", ""))


def check_game(game_spec: GameSpec, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT) -> None:
    """Raise an error for the first check that the game fails; see :func:`verdicts`.

    Raises:
        ConformanceError: the game fails a check; the message has the location and the reason.
    """
    for verdict in verdicts(game_spec, seeds, limit=limit):
        if verdict.problem is not None:
            raise ConformanceError(verdict.problem)


__all__ = [
    "CHECKS",
    "SEEDS",
    "SPEC_CHECKS",
    "Check",
    "ConformanceError",
    "SpecCheck",
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
