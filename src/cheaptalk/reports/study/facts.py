"""Facts about a study as a whole for every page: matches, usage and versions."""

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from typing import Any, NamedTuple

import polars as pl
import yaml

from cheaptalk import __version__
from cheaptalk.records import Status, Store, StudySummary
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.exclusions import REPLACEMENT_SUFFIX, Policy, policies_of
from cheaptalk.records.imports import NAMES_WARNING, contains_names
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.ledger.ledger import lost_calls
from cheaptalk.records.ledger.spending import Sending, paid_by_others, sendings, study_cost
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.pages import moment
from cheaptalk.reports.recipes.tables import Header, ReportTable, counts, texts
from cheaptalk.rules import get_game
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.plans.plan import planned_count
from cheaptalk.styles.template_files import without_texts
from cheaptalk.text import capital, money, readable

NULL_OBSERVER, UNNAMED = "none answered", "not named"
"""Placeholders for the model id if there was no response, or one without a model."""
TOKENS = {
    "input_tokens": "Input",
    "cached_tokens": "Of it cached",
    "output_tokens": "Output",
    "reasoning_tokens": "Of it reasoning",
}
"""Kinds of tokens and their titles."""
TOOLS = ("polars", "numpy", "scipy")
"""Packages whose versions a page states, because they compute its numbers."""


class UnansweredKind(NamedTuple):
    """A kind of invalid answer, with the study's policy for it and the number of its matches."""

    kind: str
    policy: Policy
    matches: int


class Exclusions(NamedTuple):
    """The treatment of matches with invalid answers, and the numbers of such matches."""

    kinds: list[UnansweredKind]
    dropped: int
    replaced: int
    max_replacements: int


def study_facts(
    store: Store, summary: StudySummary, frames: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    """Return the template variables for the facts and methods of a study."""
    end = pl.coalesce("ended_at", "imported_at").dt.timestamp() / 1e6
    ends = [frame.select(end).to_series() for frame in frames.values()]
    ended = pl.concat(ends) if ends else pl.Series([], dtype=pl.Float64)
    taken = study_cost(store, summary.name)
    judging = judging_cost(store, summary.name)
    models, costs = served(sendings(store, summary.name), summary.name)
    planned = planned_count(summary, store)
    begun = sum(summary.counts.values())
    return {
        "counts": {status.value: summary.counts.get(status.value, 0) for status in Status},
        "planned": planned,
        "set_aside": summary.set_aside,
        "paid_by_others": paid_by_others(store, summary.name),
        "not_begun": max(0, (planned or begun) - begun),
        "problems": store.problems(summary.name),
        "exclusions": exclusions(summary.spec, frames),
        "lost": lost_calls(store, summary.name),
        "imported": imported_facts(store, summary, frames),
        "unidentified": unidentified_people(store, summary.name, frames),
        "began": ended.min(),
        "ended": ended.max(),
        "calls": taken.calls,
        "tokens": taken.tokens,
        "uncounted": taken.uncounted,
        "implausible": taken.implausible,
        "dollars": dollars_text(taken),
        "judging": judging,
        "judging_dollars": dollars_text(judging),
        "served": served_table(models) if models else None,
        "costs": costs_table(costs) if costs else None,
        "spec": yaml.safe_dump(
            _stated(without_texts(summary.spec)),
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,
        ),
        "rules": {name: get_game(name).rules.version for name in frames},
    }


def imported_facts(
    store: Store, summary: StudySummary, frames: Mapping[str, pl.DataFrame]
) -> dict[str, Any] | None:
    """Return the facts about a study's games if another system played them, or None.

    These are the ``system``, the days of the ``first`` and the ``last`` game among the ``dated``
    ones, the number of ``games``, and a note on ``names`` in messages, empty if they were removed.
    """
    system = summary.spec.get("imported")
    if system is None:
        return None
    days = []
    for text in (text for frame in frames.values() for text in frame["source_date"].drop_nulls()):
        with suppress(ValueError):  # a date in another format
            days.append(date.fromisoformat(text[:10]))
    return {
        "system": system,
        "first": min(days, default=None),
        "last": max(days, default=None),
        "dated": len(days),
        "games": sum(frame.height for frame in frames.values()),
        "names": NAMES_WARNING if contains_names(store, summary.name) else "",
    }


def unidentified_people(store: Store, study: str, frames: Mapping[str, pl.DataFrame]) -> int:
    """Return the number of human matches whose participants the store does not identify.

    Imported recordings and visitors of rooms have no codes by which intervals could be clustered.
    """
    people = [
        label
        for label, specs in specs_of(store, study).items()
        if any(spec.get("person") for spec in specs)
    ]
    count = 0
    for frame in frames.values():
        seats = [name for name in frame.columns if name.startswith("player_")]
        with_people = frame.filter(pl.any_horizontal(pl.col(seats).is_in(people)))
        identified = with_people[PEOPLE].count() if PEOPLE in frame.columns else 0
        count += with_people.height - identified
    return count


def costs_table(costs: Mapping[str, Cost]) -> ReportTable:
    """Return the table of each player's calls, tokens and cost."""
    unknown = ("uncounted", "unpriced", "unresolved")
    rows = [
        {"player": label, "calls": cost.calls, "cost": dollars_text(cost)}
        | {
            name: None if cost.uncounted and not cost.tokens else getattr(cost.usage, name)
            for name in TOKENS
        }
        | {name: getattr(cost, name) for name in unknown}
        for label, cost in costs.items()
    ]
    columns = [
        Header("player", "Player"),
        Header("calls", "Calls", "to the model", 0),
        Header("cost", "Cost", "at the prices at the time of each call"),
        *counts("tokens", **TOKENS),
        *counts(
            "calls", **{name: capital(name) for name in unknown if any(row[name] for row in rows)}
        ),
    ]
    uncounted = any(row["uncounted"] for row in rows)
    notes = ("Uncounted calls have an unknown number of tokens.",) if uncounted else ()
    return ReportTable.of("costs", "Usage by player", rows, columns, notes=notes)


def served_table(rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    """Return the table of attempts by requested model, returned model, settings and route."""
    columns = [
        *texts(player="Player", asked="Requested model", answered="Returned model"),
        *texts(settings="Settings sent", route="Route"),
        *counts(sendings="Attempts"),
        *counts("attempts", cached="From the cache"),
        *texts(ended="Matches ended"),
    ]
    return ReportTable.of("models", "Requested and returned models", rows, columns)


def versions() -> dict[str, str]:
    """Return the versions of the software that made a page."""
    own_versions = {"cheaptalk": __version__, "Python": platform.python_version()}
    return own_versions | {name: version(name) for name in TOOLS}


def dollars_text(cost: Cost) -> str:
    """Format the known cost of calls.

    >>> dollars_text(Cost(2, dollars=0.5)), dollars_text(Cost(2, unpriced=2))
    ('$0.50', 'unknown')
    """
    return "unknown" if cost.dollars_known is None else money(cost.dollars)


def _stated(value: Any) -> Any:
    """Return a study's definition without unset options."""
    if isinstance(value, dict):
        stated = {key: _stated(inner) for key, inner in value.items()}
        return {key: inner for key, inner in stated.items() if inner not in (None, {}, [], [{}])}
    return [_stated(inner) for inner in value] if isinstance(value, list) else value


def exclusions(spec: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> Exclusions:
    """Return the treatment of matches with invalid answers, over all games of a study."""
    policies = policies_of(spec)
    finished = pl.col("status") == Status.FINISHED.value
    replacement = pl.col("instance").str.contains(REPLACEMENT_SUFFIX)
    kinds = [
        UnansweredKind(kind, policy, sum(_with(frame, kind) for frame in frames.values()))
        for kind, policy in policies.by_kind.items()
    ]
    return Exclusions(
        [kind for kind in kinds if kind.matches or kind.kind in policies.model_fields_set],
        sum(frame.filter(finished & pl.col("dropped")).height for frame in frames.values()),
        sum(frame.filter(replacement).height for frame in frames.values()),
        policies.max_replacements,
    )


def _with(frame: pl.DataFrame, kind: str) -> int:
    answers = pl.col(rf"^answers_.*_{kind}$")
    return frame.filter(pl.any_horizontal(answers > 0)).height


def served(sendings: Iterable[Sending], study: str) -> tuple[list[dict[str, Any]], dict[str, Cost]]:
    """Count the attempts of a study's planned calls, and add up the usage by player.

    Attempts of one player with the same settings and outcome are one row of
    :func:`served_table`, with the times at which their matches ended.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    cached: Counter[tuple[str, ...]] = Counter()
    ends: dict[tuple[str, ...], list[float]] = {}
    costs: dict[str, Cost] = {}
    for player, model, reply, ended, bought_by, planned in sendings:
        if bought_by == study:
            costs[player] = costs.get(player, Cost()) + cost_of(reply)
        if not planned:
            continue
        data = reply or {}
        sent = json.dumps(data.get("sent") or {}, sort_keys=True)
        unnamed = NULL_OBSERVER if data.get("text") is None else UNNAMED
        way = (player, model, data.get("model") or unnamed, data.get("route") or "", sent)
        counts[way] += 1
        cached[way] += bool(data.get("cached"))
        if ended is not None:
            span = ends.setdefault(way, [ended, ended])
            span[:] = min(span[0], ended), max(span[1], ended)
    names = ("player", "asked", "answered", "route", "settings")
    return [
        dict(zip(names, way, strict=True))
        | {"route": way[3] or "unknown", "settings": readable(json.loads(way[4])) or "none"}
        | {"sendings": counts[way], "cached": cached[way]}
        | {"ended": " to ".join(dict.fromkeys(map(moment, ends.get(way, ())))) or "none"}
        for way in sorted(counts)
    ], dict(sorted(costs.items()))
