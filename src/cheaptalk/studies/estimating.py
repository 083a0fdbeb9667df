"""What a study is going to cost, as a range, before anything runs."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cheaptalk.models import ModelSettings, Usage
from cheaptalk.models.prices import Price, Prices, load_prices
from cheaptalk.players import ModelSeat
from cheaptalk.studies.amounts import NOTHING, Amounts, Range, dollars_shown, shown
from cheaptalk.studies.planning import Plan, PlannedMatch
from cheaptalk.studies.rehearsing import (
    Load,
    Loads,
    Part,
    asked_of,
    evenly,
    mean_load,
    part_of,
    rehearse,
    stand_ins,
)
from cheaptalk.studies.sizes import reasoning_of

CHARACTERS = (5.0, 3.0)
"""Characters of a token: where there are few tokens, and where there are many."""
REASKED = 0.1
"""Share of calls that are made again because a reply was no legal answer, at the most."""
AROUND = (0, 60)
"""Tokens that a model writes around an answer in JSON."""
ALOUD = (0, 500)
"""Tokens that a model writes before its answer where it may answer in words."""
CACHEABLE = 1_024
"""Tokens of a beginning from which on providers remember it."""
REHEARSALS = 40
"""Matches that are rehearsed for each part, at the most."""
EFFORT = 2_000
"""Calls after which no further match of a part is rehearsed."""


@dataclass(frozen=True)
class Estimate:
    """What the models of a study are going to take.

    Attributes:
        matches: matches with models that are still to be played.
        players: amounts by the label of a player.
        models: the model of each of these players.
        rehearsed: matches that were played with stand-ins to find out.
        assumes: what the range rests on, a sentence each.
    """

    matches: int
    players: dict[str, Amounts]
    models: dict[str, str]
    rehearsed: int
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
        tokens = whole.input_tokens.plus(whole.output_tokens)
        parts = [f"{shown(whole.calls)} calls", f"{shown(tokens)} tokens"]
        if len(self.unpriced) < len(set(self.models.values())):
            parts.append(dollars_shown(whole.dollars or NOTHING))
        if self.unpriced:
            parts.append(f"no price is known for {', '.join(self.unpriced)}")
        return ", ".join(parts)

    def __str__(self) -> str:
        rows = [f"{self.matches:,} matches with models: {self.line}"]
        rows += [f"  {label}: {one.line}" for label, one in self.players.items()]
        return "\n".join([*rows, "This assumes:", *(f"- {one}" for one in self.assumes)])

    def as_json(self) -> dict[str, Any]:
        """The estimate as plain data."""
        return {
            "matches": self.matches,
            "rehearsed": self.rehearsed,
            **self.total.as_json(),
            "unpriced": self.unpriced,
            "players": {
                label: {"model": self.models[label], **one.as_json()}
                for label, one in self.players.items()
            },
            "assumes": list(self.assumes),
        }


def estimate(plan: Plan, prices: Prices | None = None, settled: Container[str] = ()) -> Estimate:
    """Estimate what the models of a plan are going to take.

    Some matches are played with scripted stand-ins on their very deals, and the words that models
    would read are counted. Low is what the quickest stand-in takes, high the slowest.

    Args:
        prices: what models cost; by default those of :func:`~cheaptalk.models.prices.load_prices`.
        settled: ids of matches that are not played again.
    """
    known = prices or load_prices()
    seats: Counter[tuple[str, Part]] = Counter()
    specs: dict[str, ModelSeat] = {}
    playing: defaultdict[Part, list[PlannedMatch]] = defaultdict(list)
    parts: dict[tuple[str, str, int], Part] = {}
    count = 0
    for match in plan.matches:
        if match.scripted or match.id in settled:
            continue
        count += 1
        for place, label, spec in _seated(match):
            key = (match.configuration.game.name, place, id(spec))
            part = parts.get(key) or parts.setdefault(key, part_of(match, place, spec))
            seats[label, part] += 1
            specs[label] = spec
            if not playing[part] or playing[part][-1] is not match:
                playing[part].append(match)
    rehearsals = _Rehearsals()
    loads = {part: rehearsals.of(part, matches) for part, matches in playing.items()}
    players = {label: Amounts() for label in specs}
    for (label, part), number in seats.items():
        amounts = _amounts(loads[part], specs[label], known).times(number)
        players[label] = players[label].plus(amounts)
    for label, spec in specs.items():
        if known.of(spec.model) is None:
            players[label] = replace(players[label], dollars=None)
    assumes = _assumptions(specs, known, rehearsals.unknown)
    models = {label: spec.model for label, spec in specs.items()}
    return Estimate(count, players, models, len(rehearsals.done), assumes)


def _seated(match: PlannedMatch) -> Iterator[tuple[str, str, ModelSeat]]:
    """Place, label and settings of each model in a match."""
    for place, one in zip(match.configuration.game.places, match.seating, strict=True):
        if isinstance(one.spec, ModelSeat):
            yield place, one.label, one.spec


class _Rehearsals:
    """Matches that are rehearsed, each once with each of the chosen stand-ins."""

    def __init__(self) -> None:
        self.done: dict[str, dict[str, Loads]] = {}
        self.unknown: set[str] = set()
        self._chosen: dict[str, list[str]] = {}

    def of(self, part: Part, matches: Sequence[PlannedMatch]) -> tuple[Load, Load]:
        """What a seat reads and writes in a match on average, with the quickest stand-in and with
        the slowest; nothing where no stand-in can play."""
        found: defaultdict[str, list[Load]] = defaultdict(list)
        calls = 0.0
        for match in evenly(matches, REHEARSALS):
            if calls > EFFORT:
                break
            places = [at for at, _, spec in _seated(match) if part_of(match, at, spec) == part]
            for name, loads in self._rehearsed(match).items():
                calls += sum(load.calls for load in loads.values())
                found[name] += [loads[at] for at in places]
        means = sorted(map(mean_load, found.values()), key=lambda load: load.asked)
        if not means:
            self.unknown.add(part.game)
            return Load(), Load()
        return means[0], means[-1]

    def _rehearsed(self, match: PlannedMatch) -> dict[str, Loads]:
        if match.id not in self.done:
            game = match.configuration.game.name
            names = self._chosen.get(game) or stand_ins(match)
            played = {name: rehearse(match, name) for name in names}
            done = {name: loads for name, loads in played.items() if loads}
            self.done[match.id] = done
            if game not in self._chosen and done:
                by_length = sorted(done, key=lambda name: asked_of(done[name]))
                ends = [by_length[0], by_length[-1]]
                self._chosen[game] = list(dict.fromkeys([*ends, *{"random"} & set(done)]))
        return self.done[match.id]


def _amounts(loads: tuple[Load, Load], spec: ModelSeat, prices: Prices) -> Amounts:
    """What one seat of one match takes, by what is read and written with two stand-ins."""
    price = prices.of(spec.model)
    settings = spec.settings()
    few = _usage(loads[0], settings, price, spec, high=False)
    many = _usage(loads[1], settings, price, spec, high=True)
    more = 1 + REASKED
    return Amounts(
        Range(loads[0].calls, loads[1].calls * more),
        Range(few.input_tokens, many.input_tokens),
        Range(few.output_tokens, many.output_tokens),
        Range(few.reasoning_tokens, many.reasoning_tokens),
        Range(price.dollars(few), price.dollars(many)) if price else None,
    )


def _usage(
    load: Load, settings: ModelSettings, price: Price | None, spec: ModelSeat, *, high: bool
) -> Usage:
    """Tokens of one seat in one match: many, or few."""
    many = int(high)
    calls = load.calls * (1 + REASKED * many)
    asked = load.asked / CHARACTERS[many] * (1 + REASKED * many)
    usual = "medium" if price is not None and price.reasons else "none"
    reasoning = reasoning_of(settings, unset=usual)[many]
    aloud = ALOUD if spec.chain_of_thought or spec.answers == "text" else AROUND
    answered = load.answered / max(load.calls, 1) / CHARACTERS[many] + aloud[many] + reasoning
    answered = min(answered, settings.max_tokens or answered)
    repeated = load.repeated / CHARACTERS[many]
    cached = 0 if many or repeated < CACHEABLE * load.calls else repeated
    return Usage(
        input_tokens=round(asked),
        output_tokens=round(answered * calls),
        cached_tokens=round(cached),
        reasoning_tokens=round(min(reasoning, answered) * calls),
    )


def _assumptions(specs: dict[str, ModelSeat], prices: Prices, unknown: set[str]) -> tuple[str, ...]:
    """What an estimate rests on, a sentence each."""
    lines = [
        "matches are as long as between the game's own strategies, the quickest and the slowest",
        f"a token has {CHARACTERS[1]:g} to {CHARACTERS[0]:g} characters",
        f"up to {REASKED:.0%} of the calls are made again because an answer was not legal",
        "failed sendings are not billed",
        "a beginning that was sent before is cheaper in the low estimate only",
    ]
    lines += [f"no strategy can stand in at {game}, which is left out" for game in sorted(unknown)]
    for label, spec in specs.items():
        price = prices.of(spec.model)
        by_itself = price is not None and price.reasons and spec.reasoning is None
        low, high = reasoning_of(spec.settings(), unset="medium" if by_itself else "none")
        if high:
            why = "which reasons by itself" if by_itself else f"reasoning {spec.reasoning}"
            lines.append(
                f"{label} ({why}) reasons in {low:,} to {high:,} tokens before each answer"
            )
        elif spec.reasoning is None and not (price and price.free):
            lines.append(f"{label} does not reason unless it is told to")
    return tuple(lines)
