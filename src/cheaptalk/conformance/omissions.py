"""Advice on missing descriptions of a game, which violate no requirement but affect users."""

import math
from collections.abc import Iterator

from cheaptalk.conformance.settings import limits
from cheaptalk.rules import GameSpec, Metric, Series, field_meanings


def advice(game_spec: GameSpec) -> Iterator[str]:
    """Yield a sentence for each missing description, with the consequence for users."""
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
    quantities: list[Metric | Series] = [*game_spec.metrics.values(), *game_spec.series.values()]
    unitless = [quantity.name for quantity in quantities if not quantity.unit]
    if unitless:
        yield f"no unit for {', '.join(unitless)}; tables and axes show numbers without a unit"
