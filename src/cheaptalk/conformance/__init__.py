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

>>> game_spec = ct.get_game("negotiation")
>>> list(ct.conformance.variants(game_spec))[-2:]
['messages: False', 'outside_option: False']
>>> ct.conformance.check_seats(game_spec, game_spec.rules(), "any seed")
"""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import cheaptalk as ct
from cheaptalk.conformance.answers import (
    check_alternatives,
    check_answers,
    check_forfeits,
    check_schemas,
    check_talk,
)
from cheaptalk.conformance.declarations import (
    check_assessment,
    check_json,
    check_metrics,
    check_payoffs,
    check_seats,
    check_series,
    check_words,
)
from cheaptalk.conformance.matches import (
    LIMIT,
    Check,
    ConformanceError,
    OutOfTime,
    SpecCheck,
    root_cause,
    variants,
)
from cheaptalk.conformance.play import (
    check_events,
    check_extremes,
    check_memory,
    check_parameters,
    check_replay,
    check_same_seed,
    check_strategies,
    limits,
)
from cheaptalk.conformance.privacy import check_secrets, check_simultaneous
from cheaptalk.conformance.processes import check_processes, spec_at
from cheaptalk.rules import field_meanings, games
from cheaptalk.rules.arguments import check_functions
from cheaptalk.rules.registry import SpecLike

CHECKS: tuple[Check, ...] = (
    check_seats,
    check_words,
    check_same_seed,
    check_replay,
    check_simultaneous,
    check_secrets,
    check_schemas,
    check_alternatives,
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
    game_spec: SpecLike, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT
) -> Iterator[Verdict]:
    """Run every check on a game, in every variant and with each seed.

    Parts that other packages register for the game, such as strategies, are included. If a check
    exceeds the time limit, the remaining checks are skipped.

    Args:
        limit: maximum seconds of the game's code from one answer to the next; 0 for no limit.
    """
    game_spec = ct.get_game(game_spec)
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
    game_spec: ct.GameSpec, seeds: Sequence[str], limit: float
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


def check_game(game_spec: SpecLike, seeds: Sequence[str] = SEEDS, *, limit: float = LIMIT) -> None:
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
    "check_alternatives",
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
    "spec_at",
    "variants",
    "verdicts",
]


def advice(game_spec: SpecLike) -> Iterator[str]:
    """Yield a sentence for each missing description, with the consequence for users."""
    game_spec = ct.get_game(game_spec)
    rules = game_spec.rules
    if not rules.__doc__:
        yield f"{rules.__name__} has no docstring; cheaptalk game list would show it"
    if not all(rules.payoff_units().values()):
        yield (
            f"{rules.__name__} has no payoff_unit; reports and exported tables do not name the "
            "unit of payoffs"
        )
    if not rules.payoffs.__doc__:
        yield "payoffs() has no docstring; reports do not explain payoffs"
    undocumented = [name for name, meaning in field_meanings(rules).items() if not meaning]
    if undocumented:
        yield (
            f"no docstring below {', '.join(undocumented)}; cheaptalk game list and reports do "
            "not explain the parameter"
        )
    bounds = {name: limits(field) for name, field in rules.model_fields.items()}
    unbounded = [
        name for name, pair in bounds.items() if pair and not all(map(math.isfinite, pair))
    ]
    if unbounded:
        yield (
            f"{', '.join(unbounded)} has no range, so that studies may set values that the "
            "rules do not support; add one, as in rounds: int = Field(3, ge=1, le=100)"
        )
    quantities: list[ct.Metric | ct.rules.Series] = [
        *game_spec.metrics.values(),
        *game_spec.series.values(),
    ]
    unitless = [quantity.name for quantity in quantities if not quantity.unit]
    if unitless:
        yield f"no unit for {', '.join(unitless)}; tables and axes show numbers without a unit"


check_functions(globals())
