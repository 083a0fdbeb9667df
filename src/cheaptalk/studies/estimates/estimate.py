"""The cost of a study, as a range, before anything runs, and whether its budget allows it."""

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

from cheaptalk.calls.budget import Budget, Cap, amount_text
from cheaptalk.models.flow_control import START
from cheaptalk.models.prices import Prices, load_prices
from cheaptalk.players import ModelSeat
from cheaptalk.records.costs import Cost
from cheaptalk.rules import counted
from cheaptalk.rules.display import Printed
from cheaptalk.studies.estimates.amounts import (
    NOTHING,
    Amounts,
    Range,
    dollars_shown,
    duration_shown,
    shown,
)
from cheaptalk.studies.estimates.experience import (
    NONE,
    Asked,
    Experience,
    Experiences,
    Lengths,
    Table,
    mean_length,
)
from cheaptalk.studies.estimates.rehearsal import (
    Load,
    Rehearsal,
    RehearsedRole,
    evenly,
    mean_load,
    models_of,
    rehearse,
    role_of,
    stand_ins,
)
from cheaptalk.studies.estimates.tokens import (
    CHARACTERS,
    REASKED,
    amounts_of,
    reasoning_assumed,
    seconds_of,
)
from cheaptalk.studies.plans.matches import Marks, PlannedMatch
from cheaptalk.studies.plans.plan import Plan
from cheaptalk.studies.runs.host import CONCURRENCY, IN_BATCHES

Try: TypeAlias = tuple[str, int]
"""A stand-in, and the luck that it has."""
LUCKS = 4
"""How often a match is rehearsed with a random stand-in, each time with other luck."""
Asking: TypeAlias = tuple[str, RehearsedRole]
"""A model at a table: its label and role."""
Lineup: TypeAlias = tuple[Asking, ...]
"""The models at a table."""
LONGER = 3
"""How many times as long as a match takes on average the longest may, at the end of a run."""
NOBODY: Mapping[str, Mapping[str, Cost]] = MappingProxyType({})
BATCH = (3_600, 86_400)
"""Seconds within which a provider's batch ends, mostly and at the most."""
REHEARSALS = 40
"""Matches that are rehearsed for each part, at the most."""
EFFORT = 5_000
"""Calls that are rehearsed, shared among all parts: each has one match at the least."""


@dataclass(frozen=True, repr=False)
class Estimate(Printed):
    """What the models of a study are going to take.

    Attributes:
        matches: matches with models that are still to be played.
        players: amounts by the label of a player.
        per_match: amounts of one match, on average, where it takes the most.
        models: the model of each of these players.
        rehearsed: matches that were played with stand-ins to find out.
        at_once: matches that are played at once.
        seconds: that the run takes.
        plies: rounds of providers' batches, one after the other; None where calls go out at once.
        lengths: calls of a match by game, on average.
        assumes: what the range rests on, a sentence each.
    """

    matches: int
    players: dict[str, Amounts]
    per_match: Amounts
    models: dict[str, str]
    rehearsed: int
    at_once: int
    seconds: Range
    plies: Range | None
    lengths: dict[str, Range]
    assumes: tuple[str, ...]

    @property
    def total(self) -> Amounts:
        """The amounts of all players together; the dollars are those that are known."""
        whole = Amounts()
        for one in self.players.values():
            whole = whole.plus(one)
        return whole

    @property
    def unpriced(self) -> list[str]:
        """Models whose price is not known."""
        return sorted(
            {self.models[label] for label, one in self.players.items() if one.dollars is None}
        )

    @property
    def line(self) -> str:
        """The estimate in one line."""
        whole = self.total
        parts = [shown(whole.calls, "call"), shown(whole.tokens, "token")]
        if len(self.unpriced) < len(set(self.models.values())):
            parts.append(dollars_shown(whole.dollars or NOTHING))
        if self.unpriced:
            parts.append(f"no price is known for {', '.join(self.unpriced)}")
        return ", ".join(parts)

    @property
    def duration(self) -> str:
        """How long the run takes, in words."""
        whole = duration_shown(self.seconds)
        if self.plies is None:
            return whole
        return f"{shown(self.plies, 'ply')} of batches, one after the other, in {whole}"

    def __str__(self) -> str:
        rows = [f"{counted(self.matches, 'match')} with models: {self.line}"]
        at_once = counted(self.at_once, "match")
        rows += [f"  estimated time: {self.duration}, with up to {at_once} at once"]
        rows += [f"  {label}: {one.line}" for label, one in self.players.items()]
        return "\n".join([*rows, "This assumes:", *(f"- {one}" for one in self.assumes)])

    def as_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {
            "matches": self.matches,
            "rehearsed": self.rehearsed,
            **self.total.as_json(),
            "per_match": self.per_match.as_json(),
            "concurrency": self.at_once,
            "seconds": [round(end, 1) for end in self.seconds],
            "plies": self.plies and [*self.plies],
            "unpriced": self.unpriced,
            "players": {
                label: {"model": self.models[label], **one.as_json()}
                for label, one in self.players.items()
            },
            "assumes": list(self.assumes),
        }


def estimate(
    plan: Plan,
    prices: Prices | None = None,
    settled: Container[str] = (),
    begun: Mapping[str, Mapping[str, Cost]] = NOBODY,
    *,
    seen: Experiences = NONE,
    batch: bool = False,
    concurrency: int | None = None,
) -> Estimate:
    """Estimate what the models of a plan are going to take.

    Some matches are played with scripted stand-ins on their very deals, and the words that models
    would read are counted. Low is what it takes with whichever stand-in makes a match shortest,
    high halfway between all of them and the slowest. Where a model has answered already, its
    replies tell the rest.

    Args:
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        settled: ids of matches that are not played again.
        begun: what came back of matches that were begun and are to be gone on with, by id and
            seat; the low ends count on it.
        seen: what replies so far took.
        batch: whether calls go out in providers' batches.
        concurrency: matches with models played at once; None for as many as a run plays.
    """
    known = prices or load_prices()
    live = plan.matches.left(Marks(), instant=False)
    left = [one for one in live if one.id not in settled]
    tables, playing, specs = _parts(left)
    rehearsals = _Rehearsals()
    effort = EFFORT / max(len(playing), 1)
    loads = {part: rehearsals.of(part, matches, effort) for part, matches in playing.items()}
    asked = {
        (label, part): Asked.of(specs[label], part.game)
        for table in tables
        for label, part in table
    }
    each = {
        (label, part): amounts_of(
            loads[part], specs[label], known, batch=batch, seen=seen.calls.get(calls)
        )
        for (label, part), calls in asked.items()
    }
    per_match = Amounts()
    totals: defaultdict[Asking, Amounts] = defaultdict(Amounts)
    for table, number in tables.items():
        whole = Amounts()
        for one in table:
            totals[one] = totals[one].plus(each[one].times(number))
            whole = whole.plus(each[one])
        per_match = per_match.or_more(whole)
    if seen.lengths:
        totals = _at_length(totals, left, seen.lengths)
    players = {label: Amounts() for label in specs}
    work = NOTHING
    for (label, part), amounts in totals.items():
        players[label] = players[label].plus(amounts)
        work = work.plus(seconds_of(amounts, seen.calls.get(asked[label, part])))
    most = concurrency or (IN_BATCHES if batch else CONCURRENCY)
    at_once = max(1, min(most, len(left)))
    plies = rehearsals.plies(len(left) / at_once, begun) if batch else None
    if plies is not None:
        seconds = Range(plies.low * BATCH[0], plies.high * BATCH[1])
    else:
        longest = work.high / max(len(left), 1) * LONGER
        seconds = Range(work.low / at_once, work.high / min(at_once, START) + longest)
    taken = _taken(left, begun)
    for label, spec in specs.items():
        price = known.of(spec.model)
        dollars = price.dollars(taken[label].usage, batch=batch) if price else 0.0
        rest = players[label].without(taken[label], dollars)
        players[label] = rest if price else replace(rest, dollars=None)
    assumes = _assumptions(plan, specs, known, rehearsals.unknown)
    if batch:
        assumes += ("most batches end within 1 h, and each within 24 h, as providers say",)
    assumes += tuple(_seen(asked, seen.calls))
    if begun:
        assumes += ("matches that were begun are counted in full in the high estimate",)
    models = {label: spec.model for label, spec in specs.items()}
    return Estimate(
        len(left), players, per_match, models, len(rehearsals.done), most, seconds, plies,
        _calls_by_game(totals, left), assumes,
    )  # fmt: skip


def _calls_by_game(
    totals: Mapping[Asking, Amounts], left: Sequence[PlannedMatch]
) -> dict[str, Range]:
    matches = Counter(match.configuration.game.name for match in left)
    calls: defaultdict[str, Range] = defaultdict(lambda: NOTHING)
    for (_, part), amounts in totals.items():
        calls[part.game] = calls[part.game].plus(amounts.calls)
    return {game: calls[game].times(1 / count) for game, count in matches.items()}


def _seen(asked: Mapping[Asking, Asked], calls: Mapping[Asked, Experience]) -> Iterator[str]:
    """Whose replies so far tell the rest, a sentence each."""
    found = {(label, part.game): calls[key] for (label, part), key in asked.items() if key in calls}
    for (label, game), one in found.items():
        yield (
            f"but {label} goes on at {game} as in its {counted(one.replies, 'reply')} that were "
            f"read, with {shown(one.output)} tokens out in {one.seconds.low:,.1f} to "
            f"{one.seconds.high:,.1f} s"
        )


def _at_length(
    totals: Mapping[Asking, Amounts], left: Sequence[PlannedMatch], lengths: Mapping[Table, Lengths]
) -> defaultdict[Asking, Amounts]:
    """The amounts with matches as long as those that have ended, in games where these tell."""
    waiting: defaultdict[str, Counter[Table]] = defaultdict(Counter)
    for match in left:
        rules = match.configuration.game
        pairs = zip(rules.places, match.seating, strict=True)
        players = tuple(one.digest for _, one in sorted(pairs, key=itemgetter(0)))
        waiting[rules.name][Table(match.configuration.digest, players)] += 1
    found = defaultdict(Amounts, totals)
    for game, tables in waiting.items():
        length = mean_length(tables, lengths)
        ours = [one for one in totals if one[1].game == game]
        if length is None or not ours:
            continue
        calls = reduce(Range.plus, (totals[one].calls for one in ours))
        known = length.times(tables.total()).within(calls)
        low, high = known.low / max(calls.low, 1e-9), known.high / max(calls.high, 1e-9)
        for one in ours:
            found[one] = totals[one].scaled(low, high)
    return found


def _parts(
    matches: Sequence[PlannedMatch],
) -> tuple[Counter[Lineup], dict[RehearsedRole, list[PlannedMatch]], dict[str, ModelSeat]]:
    """How often which models sit at a table, the matches of each part, and settings by label."""
    tables: Counter[Lineup] = Counter()
    playing: defaultdict[RehearsedRole, list[PlannedMatch]] = defaultdict(list)
    specs: dict[str, ModelSeat] = {}
    parts: dict[tuple[str, str, int], RehearsedRole] = {}
    for match in matches:
        table: list[tuple[str, RehearsedRole]] = []
        for place, label, spec in models_of(match):
            key = (match.configuration.game.name, place, id(spec))
            part = parts.get(key) or parts.setdefault(key, role_of(match, place, spec))
            table.append((label, part))
            specs[label] = spec
            if not playing[part] or playing[part][-1] is not match:
                playing[part].append(match)
        tables[tuple(table)] += 1
    return tables, playing, specs


def _taken(
    matches: Sequence[PlannedMatch], begun: Mapping[str, Mapping[str, Cost]]
) -> defaultdict[str, Cost]:
    """What came back already of matches that are gone on with, by the label of the player."""
    found: defaultdict[str, Cost] = defaultdict(Cost)
    for match in matches:
        if match.id in begun:
            labels = {place: label for place, label, _ in models_of(match)}
            for seat in match.configuration.game.seats:
                if seat.place in labels:
                    found[labels[seat.place]] += begun[match.id].get(seat.name, Cost())
    return found


class _Rehearsals:
    """Matches that are rehearsed, each once with each of the chosen stand-ins."""

    def __init__(self) -> None:
        self.done: dict[str, dict[Try, Rehearsal]] = {}
        self.unknown: set[str] = set()
        self._chosen: dict[str, list[Try]] = {}

    def of(
        self, part: RehearsedRole, matches: Sequence[PlannedMatch], effort: float
    ) -> tuple[Load, Load]:
        """What a seat reads and writes in a match on average: with whoever makes it shortest, each
        match by itself, and halfway between all stand-ins and the slowest; nothing where none can
        play.

        Args:
            effort: calls after which no further match is rehearsed.
        """
        shortest: list[Load] = []
        found: defaultdict[Try, list[Load]] = defaultdict(list)
        calls = 0.0
        for match in evenly(matches, REHEARSALS):
            if calls > effort:
                break
            rehearsed = self._rehearsed(match)
            calls += sum(
                load.calls for played in rehearsed.values() for load in played.loads.values()
            )
            for at in [at for at, _, spec in models_of(match) if role_of(match, at, spec) == part]:
                loads = {one: played.loads[at] for one, played in rehearsed.items()}
                for one, load in loads.items():
                    found[one].append(load)
                shortest += sorted(loads.values(), key=_asked)[:1]
        if not shortest:
            self.unknown.add(part.game)
            return Load(), Load()
        means = [mean_load(loads) for loads in found.values()]
        return mean_load(shortest), mean_load([mean_load(means), max(means, key=_asked)])

    def plies(self, turns: float, begun: Container[str]) -> Range:
        """Rounds of batches, in each of which every live match goes one call further.

        Low is the longest match, each played as quickly as it can be, high the longest of all; what
        was asked again makes it longer.

        Args:
            turns: matches that are left for each that is played at once.
            begun: ids of matches that may be nearly through.
        """
        lengths = {
            id_: [one.plies for one in played.values()]
            for id_, played in self.done.items()
            if played
        }
        quick = [min(plies) for id_, plies in lengths.items() if id_ not in begun]
        low = max(max(quick), math.ceil(min(quick) * turns)) if quick else min(1, len(lengths))
        most = max(map(max, lengths.values()), default=0)
        return Range(low, math.ceil(most * (1 + REASKED)) * math.ceil(turns))

    def _rehearsed(self, match: PlannedMatch) -> dict[Try, Rehearsal]:
        if match.id not in self.done:
            game = match.configuration.game.name
            tries = self._chosen.get(game) or [(name, 0) for name in stand_ins(match)]
            played = {one: rehearse(match, *one) for one in tries}
            done = {one: found for one, found in played.items() if found and found.loads}
            self.done[match.id] = done
            if game not in self._chosen and done:
                by_length = sorted(done, key=lambda one: sum(map(_asked, done[one].loads.values())))
                lucks = [("random", luck) for luck in range(LUCKS) if ("random", 0) in done]
                self._chosen[game] = list(dict.fromkeys([by_length[0], by_length[-1], *lucks]))
        return self.done[match.id]


def _asked(load: Load) -> float:
    return load.asked


def _assumptions(
    plan: Plan, specs: dict[str, ModelSeat], prices: Prices, unknown: set[str]
) -> tuple[str, ...]:
    """What an estimate rests on, a sentence each."""
    lines = [
        "matches are as long as between the game's own strategies, quick ones and slow ones",
        f"a token has {CHARACTERS[1]:g} to {CHARACTERS[0]:g} characters",
        "the schema of an answer is billed in the high estimate only",
        f"up to {REASKED:.0%} of the calls are made again because an answer was not legal",
        "failed sendings are not billed, and no reply is in a cache",
        "a beginning that was sent before is cheaper in the low estimate only",
    ]
    if plan.study.unanswered.redeal:
        lines.append("no match is dealt afresh")
    lines += [f"no strategy can stand in at {game}, which is left out" for game in sorted(unknown)]
    return (*lines, *reasoning_assumed(specs, prices))


UNITS = ("calls", "tokens", "dollars")


def budget_text(budget: Budget) -> str:
    """What a study may spend, in words.

    >>> budget_text(Budget(calls=2000, per_match=Cap(calls=1, dollars=0.1)))
    '2,000 calls; 1 call, $0.10 a match'
    """
    whole, each = caps_text(budget), caps_text(budget.per_match)
    return (
        "; ".join([*([whole] if whole else []), *([f"{each} a match"] if each else [])]) or "none"
    )


def caps_text(cap: Cap) -> str:
    """What a cap allows, in words; empty where it limits nothing."""
    caps = {unit: getattr(cap, unit) for unit in UNITS}
    return ", ".join(amount_text(unit, most) for unit, most in caps.items() if most is not None)


def doubts(takes: Estimate, budget: Budget, spent: Cost) -> Iterator[str]:
    """Where a study may not, or cannot, end within its budget, a sentence each.

    Args:
        takes: what is left of it.
        spent: by the study so far.
    """
    if not takes.matches:
        return
    yield from shortfalls(takes.total, budget, spent, key="budget.", who="the study")
    for unit in UNITS:
        most, needed = getattr(budget.per_match, unit), _of(takes.per_match, unit)
        if most is not None and needed.high > most:
            yield (
                f"budget.per_match.{unit} allows {amount_text(unit, most)}, and a match may take "
                f"up to {amount_text(unit, needed.high)}: one that does fails"
            )


def shortfalls(takes: Amounts, cap: Cap, spent: Cost, *, key: str, who: str) -> Iterator[str]:
    """Where a cap may not, or does not, allow what is left, a sentence each.

    Args:
        takes: what is left.
        spent: so far.
        key: what stands before a unit where the cap is set.
        who: takes it.
    """
    for unit in UNITS:
        most, used, needed = getattr(cap, unit), getattr(spent, unit), _of(takes, unit)
        if most is None or used + needed.high <= most:
            continue
        sure = used + needed.low > most
        least = used + (needed.low if sure else needed.high)
        so_far = f" ({amount_text(unit, used)} so far)" if used else ""
        needs, halts = ("takes at least", "halts") if sure else ("may take up to", "may halt")
        yield (
            f"{key}{unit} allows {amount_text(unit, most)}, and {who} {needs} "
            f"{amount_text(unit, least)}{so_far}: the run {halts} before its end"
        )


def _of(amounts: Amounts, unit: str) -> Range:
    found: Range | None = getattr(amounts, unit)
    return found or NOTHING
