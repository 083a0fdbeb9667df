"""What a game leaves unsaid: no law is broken by it, but its users miss it where it is shown."""

import math
from collections.abc import Iterator

from cheaptalk.conformance.settings import limits
from cheaptalk.rules import GameBox, Measure, Series, field_meanings


def advice(box: GameBox) -> Iterator[str]:
    """What is missing in a game's own account of itself, and what that costs; a sentence each."""
    rules = box.rules
    if not rules.__doc__:
        yield f"{rules.__name__} has no docstring: cheaptalk games does not say what the game is"
    if not all(rules.payoff_units().values()):
        yield (
            f"{rules.__name__} has no payoff_unit: reports and exported tables do not say what "
            "payoffs are counted in"
        )
    if not rules.payoffs.__doc__:
        yield "payoffs() has no docstring: reports do not say what payoffs are made of"
    mute = [name for name, meaning in field_meanings(rules).items() if not meaning]
    if mute:
        yield (
            f"no docstring stands beneath {', '.join(mute)}: cheaptalk games and reports do not "
            "say what a parameter means"
        )
    bounds = {name: limits(field) for name, field in rules.model_fields.items()}
    free = [name for name, pair in bounds.items() if pair and not all(map(math.isfinite, pair))]
    if free:
        yield (
            f"{', '.join(free)} may be as large or small as you like: a study may set what the "
            "rules never meant; give a range, as in rounds: int = Field(3, ge=1, le=100)"
        )
    quantities: list[Measure | Series] = [*box.measures.values(), *box.series.values()]
    uncounted = [one.name for one in quantities if not one.unit]
    if uncounted:
        yield (
            f"no unit is given for {', '.join(uncounted)}: tables and axes do not say what a "
            "measure counts"
        )
