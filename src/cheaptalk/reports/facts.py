"""What every page says of a study as a whole: what was played, what it took, how it was made."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import polars as pl
import yaml

from cheaptalk import __version__
from cheaptalk.records import Status, Store, StudySummary
from cheaptalk.records.costs import Cost
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.lost import lost_calls
from cheaptalk.records.redeals import excluded
from cheaptalk.records.spending import sendings, study_cost
from cheaptalk.reports.exclusions import exclusions
from cheaptalk.reports.served import served
from cheaptalk.rules import CheaptalkError, game_box
from cheaptalk.studies import lay_out, money, parse_study

TOOLS = ("polars", "numpy", "scipy", "plotly")
"""Packages whose versions a page states: those that made its numbers and figures."""


def study_facts(
    store: Store, summary: StudySummary, frames: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    """What the templates of facts and methods say of a study, by name."""
    ends = [frame["finished"] for frame in frames.values()]
    ended = pl.concat(ends) if ends else pl.Series([], dtype=pl.Float64)
    taken = study_cost(store, summary.name)
    judging = judging_cost(store, summary.name)
    ways, costs = served(sendings(store, summary.name))
    planned = _planned(summary, store)
    begun = sum(summary.counts.values())
    return {
        "counts": {status.value: summary.counts.get(status.value, 0) for status in Status},
        "planned": planned,
        "set_aside": summary.set_aside,
        "not_begun": max(0, (planned or begun) - begun),
        "problems": store.problems(summary.name),
        "exclusions": exclusions(summary.spec, frames),
        "lost": lost_calls(store, summary.name),
        "began": ended.min(),
        "ended": ended.max(),
        "calls": taken.calls,
        "tokens": taken.tokens,
        "uncounted": taken.uncounted,
        "dollars": dollars_text(taken),
        "judging": judging,
        "judging_dollars": dollars_text(judging),
        "served": ways,
        "costs": {label: (cost, dollars_text(cost)) for label, cost in costs.items()},
        "spec": yaml.safe_dump(
            _stated(summary.spec), sort_keys=False, allow_unicode=True, default_flow_style=None
        ),
        "versions": {"cheaptalk": __version__, "Python": platform.python_version()}
        | {name: version(name) for name in TOOLS},
        "rules": {name: game_box(name).rules.version for name in frames},
    }


def dollars_text(cost: Cost) -> str:
    """What calls cost, as far as it is known.

    >>> dollars_text(Cost(2, dollars=0.5)), dollars_text(Cost(2, unpriced=2))
    ('$0.50', 'not known')
    """
    return "not known" if cost.dollars_known is None else money(cost.dollars)


def _stated(value: Any) -> Any:
    """A study's text without what it leaves open."""
    if isinstance(value, dict):
        stated = {key: _stated(inner) for key, inner in value.items()}
        return {key: inner for key, inner in stated.items() if inner not in (None, {}, [], [{}])}
    return [_stated(inner) for inner in value] if isinstance(value, list) else value


def _planned(summary: StudySummary, store: Store) -> int | None:
    """How many matches the study consists of; None where that cannot be said any more."""
    if "players" not in summary.spec:
        return None
    try:
        laid = lay_out(parse_study(summary.spec, summary.name), store)
    except CheaptalkError:
        return None
    return len(laid.matches) + excluded(store, summary.name).redealt
