"""What every page says of a study as a whole: what was played, what it took, how it was made."""

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from typing import Any, NamedTuple, TypeAlias

import polars as pl
import yaml

from cheaptalk import __version__
from cheaptalk.records import Status, Store, StudySummary
from cheaptalk.records.costs import Cost, cost_of
from cheaptalk.records.exclusions import AFRESH, Policy, policies_of
from cheaptalk.records.imports import IMPORTERS, NAMED, holds_names
from cheaptalk.records.judgements import judging_cost
from cheaptalk.records.ledger.ledger import lost_calls
from cheaptalk.records.ledger.spending import Sending, paid_by_others, sendings, study_cost
from cheaptalk.records.store.reader import specs_of
from cheaptalk.reports.pages import moment
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import game_box
from cheaptalk.statistics.participants import PEOPLE
from cheaptalk.studies.plans.plan import planned_count
from cheaptalk.text import capital, money, readable

NOBODY, UNNAMED = "none answered", "not named"
"""What stands in place of a model id where no reply came, or one that does not name its model."""
Way: TypeAlias = tuple[str, str, str, str, str]
TOKENS = {
    "input_tokens": "Input", "cached_tokens": "Of it cached", "output_tokens": "Output",
    "reasoning_tokens": "Of it reasoning",
}  # fmt: skip
"""Kinds of tokens, and what they are called."""
TOOLS = ("polars", "numpy", "scipy")
"""Packages whose versions a page states: those that made its numbers."""


class UnansweredKind(NamedTuple):
    """A kind of answer that is none: the study's policy for it, and matches with such answers."""

    kind: str
    policy: Policy
    matches: int


class Exclusions(NamedTuple):
    """What became of matches without an answer.

    Attributes:
        kinds: the kinds of answers that occurred, or that the study says something about.
        dropped: finished matches that are no part of any score.
        redealt: matches that were played on a fresh deal in place of another.
        redeals: how often one match is played on a fresh deal at most.
    """

    kinds: list[UnansweredKind]
    dropped: int
    redealt: int
    redeals: int


class ImportedFacts(NamedTuple):
    """What is known of games that another system played.

    Attributes:
        system: its name.
        first, last: the days of the first and the last of them by the recordings; None where these
            have no dates.
        dated: how many have one.
        games: how many there are.
        names: what to know of the names in their messages; empty where these were taken out.
        notes: what to know of parameters, by game; see :class:`.Importer`.
    """

    system: str
    first: date | None
    last: date | None
    dated: int
    games: int
    names: str
    notes: Mapping[str, Mapping[str, str]]


class Served(NamedTuple):
    """Sendings that one player's calls were answered, or failed, in the same way.

    Attributes:
        player: its label.
        asked: the model string.
        answered: the model id that came back, or one of the above.
        route: how the answer was asked for, where that is known.
        settings: what went over the wire beside the messages.
        sendings: how many, those from a cache included.
        cached: how many of them came from a cache.
        first, last: when the first and the last of their matches ended, in seconds since 1970;
            None where none has.
    """

    player: str
    asked: str
    answered: str
    route: str | None
    settings: dict[str, Any]
    sendings: int
    cached: int
    first: float | None
    last: float | None


def study_facts(
    store: Store, summary: StudySummary, frames: Mapping[str, pl.DataFrame]
) -> dict[str, Any]:
    """What the templates of facts and methods say of a study, by name."""
    ends = [frame["finished"] for frame in frames.values()]
    ended = pl.concat(ends) if ends else pl.Series([], dtype=pl.Float64)
    taken = study_cost(store, summary.name)
    judging = judging_cost(store, summary.name)
    ways, costs = served(sendings(store, summary.name), summary.name)
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
        "served": served_table(ways) if ways else None,
        "costs": costs_table(costs) if costs else None,
        "spec": yaml.safe_dump(
            _stated(summary.spec), sort_keys=False, allow_unicode=True, default_flow_style=None
        ),
        "rules": {name: game_box(name).rules.version for name in frames},
    }


def imported_facts(
    store: Store, summary: StudySummary, frames: Mapping[str, pl.DataFrame]
) -> ImportedFacts | None:
    """What is known of a study's games if another system played them."""
    system = summary.spec.get("imported")
    if system is None:
        return None
    days = []
    for text in (text for frame in frames.values() for text in frame["played"].drop_nulls()):
        with suppress(ValueError):  # a date of another form
            days.append(date.fromisoformat(text[:10]))
    return ImportedFacts(
        system, min(days, default=None), max(days, default=None), len(days),
        sum(frame.height for frame in frames.values()),
        NAMED if holds_names(store, summary.name) else "",
        IMPORTERS[system].notes if system in IMPORTERS else {},
    )  # fmt: skip


def unidentified_people(store: Store, study: str, frames: Mapping[str, pl.DataFrame]) -> int:
    """Return the number of matches of people in which the store does not know who took part.

    No recording of a published system identifies its participants, and visitors of rooms have no
    codes. Intervals then cannot be clustered by participant.
    """
    people = [
        label for label, specs in specs_of(store, study).items()
        if any(spec.get("person") for spec in specs)
    ]  # fmt: skip
    count = 0
    for frame in frames.values():
        seats = [name for name in frame.columns if name.startswith("player.")]
        with_people = frame.filter(pl.any_horizontal(pl.col(seats).is_in(people)))
        known = with_people[PEOPLE].count() if PEOPLE in frame.columns else 0
        count += with_people.height - known
    return count


def costs_table(costs: Mapping[str, Cost]) -> ReportTable:
    """What each player's models took."""
    rows = [
        {
            "player": label, "calls": cost.calls, "cost": dollars_text(cost),
            **{name: None if cost.uncounted and not cost.tokens else getattr(cost.usage, name)
               for name in TOKENS},
            "uncounted": cost.uncounted, "unpriced": cost.unpriced, "unresolved": cost.unresolved,
        }
        for label, cost in costs.items()
    ]  # fmt: skip
    unknown = any(row["uncounted"] for row in rows)
    return ReportTable(
        "costs", "What players took", pl.DataFrame(rows, infer_schema_length=None),
        (
            Header("player", "Player"), Header("calls", "Calls", "to the model", 0),
            Header("cost", "Cost", "at the prices of the time"),
            *(Header(name, title, "tokens", 0) for name, title in TOKENS.items()),
            *(Header(name, capital(name), "calls", 0)
              for name in ("uncounted", "unpriced", "unresolved")
              if any(row[name] for row in rows)),
        ),
        notes=("Of uncounted calls nobody knows the tokens.",) if unknown else (),
    )  # fmt: skip


def served_table(ways: Iterable[Served]) -> ReportTable:
    """Every sending by the model asked, the model that came back, and how it was asked."""
    rows = [
        {
            "player": one.player, "asked": one.asked, "answered": one.answered,
            "settings": readable(one.settings) or "none", "route": one.route or "not known",
            "sendings": one.sendings, "cached": one.cached, "ended": _span(one.first, one.last),
        }
        for one in ways
    ]  # fmt: skip
    return ReportTable(
        "models", "Models asked and models that answered", pl.DataFrame(rows),
        (
            Header("player", "Player"), Header("asked", "Model asked"),
            Header("answered", "Model that answered"), Header("settings", "Settings sent"),
            Header("route", "Asked for by"), Header("sendings", "Sendings", "", 0),
            Header("cached", "From the cache", "of them", 0), Header("ended", "Matches ended"),
        ),
    )  # fmt: skip


def _span(first: float | None, last: float | None) -> str:
    if first is None or last is None:
        return "none"
    begun, over = moment(first), moment(last)
    return begun if begun == over else f"{begun} to {over}"


def versions() -> dict[str, str]:
    """Of what made a page."""
    made = {"cheaptalk": __version__, "Python": platform.python_version()}
    return made | {name: version(name) for name in TOOLS}


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


def exclusions(spec: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> Exclusions:
    """What became of a study's matches without an answer, over all its games."""
    policies = policies_of(spec)
    finished = pl.col("status") == Status.FINISHED.value
    kinds = [
        UnansweredKind(kind, policy, sum(_with(frame, kind) for frame in frames.values()))
        for kind, policy in policies.by_kind.items()
    ]
    return Exclusions(
        [one for one in kinds if one.matches or one.kind in policies.model_fields_set],
        sum(frame.filter(finished & pl.col("dropped")).height for frame in frames.values()),
        sum(frame.filter(pl.col("deal").str.contains(AFRESH)).height for frame in frames.values()),
        policies.redeals,
    )  # fmt: skip


def _with(frame: pl.DataFrame, kind: str) -> int:
    """Matches in which some answer was of this kind."""
    answers = pl.col(rf"^kind\..*\.{kind}$")
    return frame.filter(pl.any_horizontal(answers > 0)).height


def served(sendings: Iterable[Sending], study: str) -> tuple[list[Served], dict[str, Cost]]:
    """How the calls of a study's planned matches were answered, and what all that it bought took by
    player, in one look at them all.
    """
    counts: Counter[Way] = Counter()
    cached: Counter[Way] = Counter()
    ends: dict[Way, list[float]] = {}
    costs: dict[str, Cost] = {}
    for player, model, reply, ended, bought_by, planned in sendings:
        if bought_by == study:
            costs[player] = costs.get(player, Cost()) + cost_of(reply)
        if not planned:
            continue
        known = reply or {}
        sent = json.dumps(known.get("sent") or {}, sort_keys=True)
        unnamed = NOBODY if known.get("text") is None else UNNAMED
        way = (player, model, known.get("model") or unnamed, known.get("route") or "", sent)
        counts[way] += 1
        cached[way] += bool(known.get("cached"))
        if ended is not None:
            span = ends.setdefault(way, [ended, ended])
            span[:] = min(span[0], ended), max(span[1], ended)
    return [
        Served(
            *way[:3], way[3] or None, json.loads(way[4]), counts[way], cached[way],
            *ends.get(way, (None, None)),
        )
        for way in sorted(counts)
    ], dict(sorted(costs.items()))  # fmt: skip
