"""Estimates of a study's cost: before it runs, for the rest of a run, and against its budget."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from cheaptalk.calls.budget import Budget, Cap, amount_text
from cheaptalk.models import ModelCall
from cheaptalk.models.flow_control import START
from cheaptalk.models.local.speed import Speed, local_speed, no_speed
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import ModelSeat
from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Cost, Store
from cheaptalk.records.ledger.spending import reused_costs, study_cost
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.rules import counted
from cheaptalk.studies.estimates import rehearsal, tokens
from cheaptalk.studies.estimates.amounts import (
    NOTHING,
    Amounts,
    Range,
    dollars_shown,
    duration_shown,
    shown,
)
from cheaptalk.studies.estimates.rehearsal import Load, Rehearsal, RehearsedRole
from cheaptalk.studies.estimates.usage_history import (
    NONE,
    CallType,
    Lengths,
    Table,
    UsageHistories,
    UsageHistory,
    mean_length,
    usage_histories,
)
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.studies.plans.plan import Plan, PlanLike, plan_of
from cheaptalk.studies.runs.host import CONCURRENCY, IN_BATCHES

Trial: TypeAlias = tuple[str, int]
"""A substitute strategy, and the number of the random draw that it uses."""
RANDOM_TRIALS = 4
"""Number of rehearsals of a match with the random strategy, each with another draw."""
Asking: TypeAlias = tuple[str, RehearsedRole]
"""A model in a match: its label and role."""
Lineup: TypeAlias = tuple[Asking, ...]
"""The models in a match."""
LONGER = 3
"""Assumed ratio of the longest match of a run to the average match."""
NONE_BEGUN: Mapping[str, Mapping[str, Cost]] = MappingProxyType({})
BATCH = (3_600, 86_400)
"""Typical and maximum seconds until a provider's batch ends."""
REHEARSALS = 40
"""Maximum number of rehearsed matches per role."""
EFFORT = 5_000
"""Number of rehearsed calls of all roles together; each role gets at least one match."""


@dataclass(frozen=True, repr=False)
class Estimate(Printed):
    """The estimated usage of a study's models.

    Attributes:
        matches: number of remaining matches with models.
        per_match: mean amounts of a match in the most expensive lineup.
        rehearsed: number of matches that were rehearsed with substitutes.
        batch_rounds: sequential rounds of providers' batches; None without batches.
        lengths: mean calls per match, by game.
    """

    matches: int
    players: dict[str, Amounts]
    per_match: Amounts
    models: dict[str, str]
    rehearsed: int
    at_once: int
    seconds: Range
    batch_rounds: Range | None
    lengths: dict[str, Range]
    assumes: tuple[str, ...]

    @property
    def total(self) -> Amounts:
        """Total estimated usage of all players, counting an unknown cost as zero."""
        return reduce(Amounts.plus, self.players.values(), Amounts())

    @property
    def unpriced(self) -> list[str]:
        """Models without a known price."""
        labels = [label for label, amounts in self.players.items() if amounts.dollars is None]
        return sorted({self.models[label] for label in labels})

    @property
    def line(self) -> str:
        """The estimate as text in one line."""
        total = self.total
        parts = [shown(total.calls, "call"), shown(total.tokens, "token")]
        if len(self.unpriced) < len(set(self.models.values())):
            parts.append(dollars_shown(total.dollars or NOTHING))
        if self.unpriced:
            parts.append(f"unknown price of {', '.join(self.unpriced)}")
        return ", ".join(parts)

    @property
    def duration(self) -> str:
        """The estimated duration of the run, as text."""
        text = duration_shown(self.seconds)
        if self.batch_rounds is None:
            return text
        return f"{shown(self.batch_rounds, 'sequential round')} of batches, in {text}"

    def printout(self) -> Printout:
        title = f"{counted(self.matches, 'match')} with models: {self.line}"
        rows = [(label, amounts.line) for label, amounts in self.players.items()]
        time = f"estimated time: {self.duration}, with up to {self.at_once} at once"
        return Printout(
            title,
            ["player", "usage"],
            rows,
            (time, *(f"assumption: {text}" for text in self.assumes)),
        )

    def __str__(self) -> str:
        rows = [f"{counted(self.matches, 'match')} with models: {self.line}"]
        at_once = counted(self.at_once, "match")
        rows += [f"  estimated time: {self.duration}, with up to {at_once} at once"]
        rows += [f"  {label}: {amounts.line}" for label, amounts in self.players.items()]
        return "\n".join([*rows, "Assumptions:", *(f"- {text}" for text in self.assumes)])

    def as_json(self) -> dict[str, Any]:
        """Return the estimate as plain data."""
        return {
            "matches": self.matches,
            "rehearsed": self.rehearsed,
            **self.total.as_json(),
            "per_match": self.per_match.as_json(),
            "concurrency": self.at_once,
            "seconds": [round(end, 1) for end in self.seconds],
            "batch_rounds": self.batch_rounds and [*self.batch_rounds],
            "unpriced": self.unpriced,
            "players": {
                label: {"model": self.models[label], **amounts.as_json()}
                for label, amounts in self.players.items()
            },
            "assumes": list(self.assumes),
        }


def estimate(
    plan: PlanLike,
    prices: Prices | None = None,
    settled: Container[str] = (),
    begun: Mapping[str, Mapping[str, Cost]] = NONE_BEGUN,
    *,
    history: UsageHistories = NONE,
    batch: bool = False,
    concurrency: int | None = None,
    speed_of: Callable[[ModelCall, int], Speed | None] = no_speed,
) -> Estimate:
    """Estimate the usage of a plan's models.

    Scripted substitutes rehearse a sample of matches on the planned instances, and the text that
    models would read is counted. The low end uses the shortest rehearsal of each match. The high
    end is the midpoint between the mean of all substitutes and the slowest substitute. If a model
    has enough recorded replies, its usage is extrapolated from these replies.

    Args:
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        settled: ids of matches that are not played again.
        begun: recorded cost of matches in progress, by match id and actor; subtracted from the low
            ends.
        history: recorded usage, for extrapolation.
        batch: whether calls are sent in providers' batches.
        concurrency: number of concurrent matches; None for the default of a run.
        speed_of: measures the speed of an in-process model with a call, at a number of concurrent
            calls; None for other models.
    """
    price_list = prices or load_prices()
    plan = plan_of(plan)
    live = plan.matches.remaining(instant=False)
    remaining = [match for match in live if match.id not in settled]
    tables, playing, specs = _parts(remaining)
    rehearsals = _Rehearsals()
    effort = EFFORT / max(len(playing), 1)
    loads = {part: rehearsals.of(part, matches, effort) for part, matches in playing.items()}
    call_types = {
        (label, part): CallType.of(specs[label], part.game)
        for table in tables
        for label, part in table
    }
    limit = concurrency or (IN_BATCHES if batch else CONCURRENCY)
    at_once = max(1, min(limit, len(remaining)))
    speeds = rehearsals.speeds(call_types, specs, lambda call: speed_of(call, at_once))
    amounts_per_match = {
        (label, part): tokens.amounts_of(
            loads[part],
            specs[label],
            price_list,
            batch=batch,
            history=history.calls.get(calls),
            speed=speeds.get(label),
        )
        for (label, part), calls in call_types.items()
    }
    per_match = Amounts()
    totals: defaultdict[Asking, Amounts] = defaultdict(Amounts)
    for table, number in tables.items():
        match_amounts = Amounts()
        for asking in table:
            totals[asking] = totals[asking].plus(amounts_per_match[asking].scaled(number, number))
            match_amounts = match_amounts.plus(amounts_per_match[asking])
        per_match = per_match.or_more(match_amounts)
    if history.lengths:
        totals = _at_length(totals, remaining, history.lengths)
    players = {label: Amounts() for label in specs}
    for (label, _), amounts in totals.items():
        players[label] = players[label].plus(amounts)
    batch_rounds = rehearsals.batch_rounds(len(remaining) / at_once, begun) if batch else None
    if batch_rounds is not None:
        seconds = Range(batch_rounds.low * BATCH[0], batch_rounds.high * BATCH[1])
    else:
        histories = {asking: history.calls.get(calls) for asking, calls in call_types.items()}
        seconds = _seconds(totals, loads, speeds, histories, len(remaining), at_once)
    costs = _recorded_costs(remaining, begun)
    for label, spec in specs.items():
        price = price_list.of(spec.model)
        dollars = price.dollars(costs[label].usage, batch=batch) if price else 0.0
        unpaid = players[label].without(costs[label], dollars)
        players[label] = unpaid if price else replace(unpaid, dollars=None)
    assumes = _assumptions(plan, specs, price_list, rehearsals.unknown)
    if batch:
        assumes += ("most batches end within 1 h, and all within 24 h, according to the providers",)
    assumes += tuple(_history_notes(call_types, history.calls))
    assumes += tuple(speed.line(label) for label, speed in speeds.items())
    if begun:
        assumes += ("matches in progress count in full in the high estimate",)
    models = {label: spec.model for label, spec in specs.items()}
    usage = (len(remaining), players, per_match, models)
    duration = (len(rehearsals.done), limit, seconds, batch_rounds)
    return Estimate(*usage, *duration, _calls_by_game(totals, remaining), assumes)


def _seconds(
    totals: Mapping[Asking, Amounts],
    loads: Mapping[RehearsedRole, tuple[Load, Load]],
    speeds: Mapping[str, Speed],
    histories: Mapping[Asking, UsageHistory | None],
    matches: int,
    at_once: int,
) -> Range:
    """Estimate the duration of calls to servers and to in-process models, which share a machine."""
    served, here = NOTHING, NOTHING
    for (label, part), amounts in totals.items():
        if speed := speeds.get(label):
            here = here.plus(tokens.seconds_in_process(amounts, loads[part], speed, matches))
        else:
            served = served.plus(tokens.seconds_of(amounts, histories[label, part]))
    longest = served.high / max(matches, 1) * LONGER
    high = served.high / min(at_once, START) + longest + here.high
    return Range(max(served.low / at_once, here.low), high)


def _calls_by_game(
    totals: Mapping[Asking, Amounts], remaining: Sequence[PlannedMatch]
) -> dict[str, Range]:
    matches = Counter(match.configuration.game.name for match in remaining)
    calls: defaultdict[str, Range] = defaultdict(lambda: NOTHING)
    for (_, part), amounts in totals.items():
        calls[part.game] = calls[part.game].plus(amounts.calls)
    return {game: calls[game].times(1 / count) for game, count in matches.items()}


def _history_notes(
    call_types: Mapping[Asking, CallType], calls: Mapping[CallType, UsageHistory]
) -> Iterator[str]:
    """Yield a sentence for each player whose usage is extrapolated from recorded replies."""
    histories = {
        (label, part.game): calls[key] for (label, part), key in call_types.items() if key in calls
    }
    for (label, game), history in histories.items():
        yield (
            f"{label} in {game}: as in {counted(history.replies, 'recorded reply')}, "
            f"{shown(history.output)} output tokens in {history.seconds.low:,.1f} to "
            f"{history.seconds.high:,.1f} s per call"
        )


def _at_length(
    totals: Mapping[Asking, Amounts],
    remaining: Sequence[PlannedMatch],
    lengths: Mapping[Table, Lengths],
) -> defaultdict[Asking, Amounts]:
    """Scale estimates to the recorded match lengths of games with enough ended matches."""
    waiting: defaultdict[str, Counter[Table]] = defaultdict(Counter)
    for match in remaining:
        rules = match.configuration.game
        pairs = zip(rules.seats, match.seating, strict=True)
        players = tuple(player.digest for _, player in sorted(pairs, key=itemgetter(0)))
        waiting[rules.name][Table(match.configuration.digest, players)] += 1
    adjusted = defaultdict(Amounts, totals)
    for game, tables in waiting.items():
        length = mean_length(tables, lengths)
        askings = [asking for asking in totals if asking[1].game == game]
        if length is None or not askings:
            continue
        calls = reduce(Range.plus, (totals[asking].calls for asking in askings))
        limited = length.times(tables.total()).within(calls)
        low, high = limited.low / max(calls.low, 1e-9), limited.high / max(calls.high, 1e-9)
        for asking in askings:
            adjusted[asking] = totals[asking].scaled(low, high)
    return adjusted


def _parts(
    matches: Sequence[PlannedMatch],
) -> tuple[Counter[Lineup], dict[RehearsedRole, list[PlannedMatch]], dict[str, ModelSeat]]:
    """Return the number of matches per lineup, the matches per role, and the models by label."""
    tables: Counter[Lineup] = Counter()
    playing: defaultdict[RehearsedRole, list[PlannedMatch]] = defaultdict(list)
    specs: dict[str, ModelSeat] = {}
    parts: dict[tuple[str, str, int], RehearsedRole] = {}
    for match in matches:
        table: list[tuple[str, RehearsedRole]] = []
        for seat, label, spec in rehearsal.models_of(match):
            key = (match.configuration.game.name, seat, id(spec))
            part = parts.get(key) or parts.setdefault(key, rehearsal.role_of(match, seat, spec))
            table.append((label, part))
            specs[label] = spec
            if not playing[part] or playing[part][-1] is not match:
                playing[part].append(match)
        tables[tuple(table)] += 1
    return tables, playing, specs


def _recorded_costs(
    matches: Sequence[PlannedMatch], begun: Mapping[str, Mapping[str, Cost]]
) -> defaultdict[str, Cost]:
    """Return the recorded cost of matches in progress, by player label."""
    costs: defaultdict[str, Cost] = defaultdict(Cost)
    for match in matches:
        if match.id in begun:
            labels = {seat: label for seat, label, _ in rehearsal.models_of(match)}
            for actor in match.configuration.game.actors:
                if actor.seat in labels:
                    costs[labels[actor.seat]] += begun[match.id].get(actor.name, Cost())
    return costs


class _Rehearsals:
    """Simulated matches in which scripted strategies replace the models."""

    def __init__(self) -> None:
        self.done: dict[str, dict[Trial, Rehearsal]] = {}
        self.unknown: set[str] = set()
        self._chosen: dict[str, list[Trial]] = {}
        self._examples: dict[RehearsedRole, ModelCall] = {}

    def of(
        self, part: RehearsedRole, matches: Sequence[PlannedMatch], effort: float
    ) -> tuple[Load, Load]:
        """Return low and high estimates of the mean text that a role reads and writes per match.

        No further match is rehearsed after ``effort`` calls. Without substitutes, both are empty.
        """
        shortest: list[Load] = []
        loads_by_trial: defaultdict[Trial, list[Load]] = defaultdict(list)
        calls = 0.0
        for match in rehearsal.evenly(matches, REHEARSALS):
            if calls > effort:
                break
            rehearsed = self._rehearsed(match)
            calls += sum(
                load.calls for played in rehearsed.values() for load in played.loads.values()
            )
            for seat, _, spec in rehearsal.models_of(match):
                if rehearsal.role_of(match, seat, spec) != part:
                    continue
                loads = {trial: played.loads[seat] for trial, played in rehearsed.items()}
                for played in rehearsed.values():
                    if seat in played.examples:
                        self._examples[part] = played.examples[seat]
                for trial, load in loads.items():
                    loads_by_trial[trial].append(load)
                shortest += sorted(loads.values(), key=_characters_sent)[:1]
        if not shortest:
            self.unknown.add(part.game)
            return Load(), Load()
        means = [rehearsal.mean_load(loads) for loads in loads_by_trial.values()]
        return rehearsal.mean_load(shortest), rehearsal.mean_load(
            [rehearsal.mean_load(means), max(means, key=_characters_sent)]
        )

    def speeds(
        self,
        askings: Iterable[Asking],
        specs: Mapping[str, ModelSeat],
        speed_of: Callable[[ModelCall], Speed | None],
    ) -> dict[str, Speed]:
        """Measure the speed of each player with a rehearsed call, if its model runs in-process."""
        speeds: dict[str, Speed] = {}
        for label, part in askings:
            if label not in speeds and part in self._examples:
                spec = specs[label]
                changes = {"model": spec.model, "settings": spec.settings()}
                speed = speed_of(self._examples[part].model_copy(update=changes))
                speeds |= {} if speed is None else {label: speed}
        return speeds

    def batch_rounds(self, turns: float, begun: Container[str]) -> Range:
        """Estimate the number of sequential batches, each with one call per match in progress.

        ``turns`` is the ratio of remaining to concurrent matches.
        """
        lengths = {
            id_: [simulated.batch_rounds for simulated in played.values()]
            for id_, played in self.done.items()
            if played
        }
        quick = [min(rounds) for id_, rounds in lengths.items() if id_ not in begun]
        low = max(max(quick), math.ceil(min(quick) * turns)) if quick else min(1, len(lengths))
        longest = max(map(max, lengths.values()), default=0)
        return Range(low, math.ceil(longest * (1 + tokens.REASKED)) * math.ceil(turns))

    def _rehearsed(self, match: PlannedMatch) -> dict[Trial, Rehearsal]:
        if match.id not in self.done:
            game = match.configuration.game.name
            trials = self._chosen.get(game) or [(name, 0) for name in rehearsal.substitutes(match)]
            played = {trial: rehearsal.rehearse(match, *trial) for trial in trials}
            done = {trial: result for trial, result in played.items() if result and result.loads}
            self.done[match.id] = done
            if game not in self._chosen and done:
                by_length = sorted(
                    done, key=lambda trial: sum(map(_characters_sent, done[trial].loads.values()))
                )
                draws = range(RANDOM_TRIALS if ("random", 0) in done else 0)
                chosen = [by_length[0], by_length[-1], *(("random", draw) for draw in draws)]
                self._chosen[game] = list(dict.fromkeys(chosen))
        return self.done[match.id]


def _characters_sent(load: Load) -> float:
    return load.sent


def _assumptions(
    plan: Plan, specs: dict[str, ModelSeat], prices: Prices, unknown: set[str]
) -> tuple[str, ...]:
    lines = [
        "matches are as long as between the game's shortest and longest built-in strategies",
        f"a token has {tokens.CHARACTERS[1]:g} to {tokens.CHARACTERS[0]:g} characters",
        "the schema of an answer is billed in the high estimate only",
        f"up to {tokens.REASKED:.0%} of the calls are retried because an answer was invalid",
        "failed attempts are not billed, and no reply is in the cache",
        "repeated prompt prefixes are cheaper in the low estimate only",
    ]
    if plan.study.unanswered.replace:
        lines.append("no match has to be replaced")
    lines += [f"{game} is not included: no strategy can simulate it" for game in sorted(unknown)]
    return (*lines, *tokens.reasoning_assumed(specs, prices))


UNITS = ("calls", "tokens", "dollars")


def budget_text(budget: Budget) -> str:
    """Format the budget of a study.

    >>> budget_text(Budget(calls=2000, per_match=Cap(calls=1, dollars=0.1)))
    '2,000 calls; per match: 1 call, $0.10'
    """
    per_match = caps_text(budget.per_match)
    parts = (caps_text(budget), f"per match: {per_match}" if per_match else "")
    return "; ".join(filter(None, parts)) or "none"


def caps_text(cap: Cap) -> str:
    """Return the limits of a budget cap as text; empty if it sets no limit."""
    caps = {unit: getattr(cap, unit) for unit in UNITS}
    return ", ".join(amount_text(unit, limit) for unit, limit in caps.items() if limit is not None)


def budget_warnings(remaining: Estimate, budget: Budget, spent: Cost) -> Iterator[str]:
    """Yield a sentence for each budget limit that the study may exceed."""
    if not remaining.matches:
        return
    yield from limit_warnings(remaining.total, budget, spent, key="budget.", subject="the study")
    for unit in UNITS:
        limit, needed = getattr(budget.per_match, unit), _of(remaining.per_match, unit)
        if limit is not None and needed.high > limit:
            yield (
                f"budget.per_match.{unit} allows {amount_text(unit, limit)}, but a match may use "
                f"up to {amount_text(unit, needed.high)}; matches that exceed the limit fail"
            )


def limit_warnings(
    remaining: Amounts, cap: Cap, spent: Cost, *, key: str, subject: str
) -> Iterator[str]:
    """Yield a sentence for each limit that the remaining usage may exceed.

    Args:
        key: the setting's name without the unit.
    """
    for unit in UNITS:
        limit, used, needed = getattr(cap, unit), getattr(spent, unit), _of(remaining, unit)
        if limit is None or used + needed.high <= limit:
            continue
        sure = used + needed.low > limit
        total = used + (needed.low if sure else needed.high)
        so_far = f" ({amount_text(unit, used)} so far)" if used else ""
        needs, halts = ("needs at least", "halts") if sure else ("may need up to", "may halt")
        yield (
            f"{key}{unit} allows {amount_text(unit, limit)}, but {subject} {needs} "
            f"{amount_text(unit, total)}{so_far}: the run {halts} before its end"
        )


def _of(amounts: Amounts, unit: str) -> Range:
    amount: Range | None = getattr(amounts, unit)
    return amount or NOTHING


class Forecast(NamedTuple):
    """The cost so far and the estimated remaining cost of a study.

    Attributes:
        settled: number of ended matches.
        takes: the estimate of the remaining matches; None if not requested.
        doubts: conflicts with the budget, one sentence each.
    """

    settled: int
    spent: Cost
    takes: Estimate | None
    doubts: Sequence[str]


@reads
def forecast(
    planned: PlanLike,
    store: StoreLike | None,
    prices: Prices | None = None,
    *,
    batch: bool = False,
    concurrency: int | None = None,
    estimated: bool = True,
    measured: bool = False,
) -> Forecast:
    """Return the cost so far and the estimated remaining cost of a plan.

    The estimate uses the recorded usage of the study's models in the store.

    Args:
        prices: model prices; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        batch: whether calls are sent in providers' batches, at batch prices.
        concurrency: number of concurrent matches; None for the default.
        estimated: whether to estimate the remaining matches, which requires rehearsals.
        measured: whether to load in-process models and measure their speed with a short call. They
            stay loaded for the next run in this process.
    """
    assert store is None or isinstance(store, Store)
    planned = plan_of(planned, store)
    name = planned.study.name
    statuses = store.statuses(match.id for match in planned.matches) if store else {}
    settled = {id_ for id_, status in statuses.items() if status in SETTLED}
    spent = study_cost(store, name) if store else Cost()
    if not estimated:
        return Forecast(len(settled), spent, None, ())
    specs = (player.spec for player in planned.players().values())
    models = {spec.model for spec in specs if isinstance(spec, ModelSeat)}
    costs = reused_costs(store) if store else {}
    remaining = estimate(
        planned,
        prices or load_prices(),
        settled,
        {id_: by_actor for id_, by_actor in costs.items() if id_ in statuses.keys() - settled},
        history=usage_histories(store, name, models) if store else NONE,
        batch=batch,
        concurrency=concurrency,
        speed_of=local_speed if measured else no_speed,
    )
    return Forecast(
        len(settled),
        spent,
        remaining,
        list(budget_warnings(remaining, planned.study.budget, spent)),
    )
