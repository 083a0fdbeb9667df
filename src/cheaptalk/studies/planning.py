"""The plan of a study: every match it consists of, before anything runs."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from pydantic import ValidationError

from cheaptalk.players import SeatSpec, StrategySeat
from cheaptalk.records import digest_key
from cheaptalk.rules import Chance, Deal, Game, UnknownName, strategies, suggest
from cheaptalk.studies.spec import Pairing, Sample, Study, StudyError, first_problem


def digest(*parts: object) -> str:
    """Twenty hexadecimal digits that stand for these parts."""
    text = "\x1f".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass(frozen=True, eq=False)
class Configuration:
    """A game with its parameters."""

    game: Game

    @cached_property
    def digest(self) -> str:
        name, version, parameters = self.stored
        return digest(name, version, digest_key(parameters))

    @property
    def stored(self) -> tuple[str, int, dict[str, Any]]:
        """What the store keeps of it."""
        return self.game.name, self.game.version, self.game.model_dump(mode="json")


@dataclass(frozen=True, eq=False)
class Seated:
    """A player as it sits down: what the study calls it, and its settings."""

    label: str
    spec: SeatSpec

    @cached_property
    def digest(self) -> str:
        return digest("player", digest_key(self.spec.model_dump(mode="json")))

    @property
    def scripted(self) -> bool:
        return isinstance(self.spec, StrategySeat)


class Dealt(NamedTuple):
    """A deal: the seed it is drawn with, or the deal itself where it was taken over.

    ``key`` is equal for matches that share the deal.
    """

    key: str
    seed: str
    explicit: Deal | None = None


class PlannedMatch(NamedTuple):
    """One match of a study, identified by a hash of everything that defines it."""

    id: str
    configuration: Configuration
    dealt: Dealt
    seating: tuple[Seated, ...]
    repeat: int

    @property
    def seed(self) -> str:
        """The seed of all chance in the match; shared by all seatings on the deal."""
        return self.dealt.seed if self.repeat == 0 else f"{self.dealt.seed}/{self.repeat}"

    @property
    def deal(self) -> Deal:
        """What nature decides: the same for all seatings and repeats."""
        if self.dealt.explicit is not None:
            return self.dealt.explicit
        return self.configuration.game.deal(Chance(self.dealt.seed).apart("deal"))

    @property
    def scripted(self) -> bool:
        return all(player.scripted for player in self.seating)


@dataclass
class Plan:
    """All matches of a study.

    Attributes:
        study: the study.
        matches: every match, in order.
        idle: players who can sit at no table of some game, as (label, game).
    """

    study: Study
    matches: list[PlannedMatch]
    idle: list[tuple[str, str]] = field(default_factory=list)

    def counts(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """Matches by game and seating."""
        return Counter(
            (match.configuration.game.name, tuple(player.label for player in match.seating))
            for match in self.matches
        )

    def configurations(self) -> dict[str, int]:
        """Configurations of each game."""
        distinct = {match.configuration.digest: match.configuration for match in self.matches}
        return dict(Counter(config.game.name for config in distinct.values()))

    def players(self) -> dict[str, Seated]:
        """Everyone who sits down, by digest."""
        return {player.digest: player for match in self.matches for player in match.seating}


class Laid(NamedTuple):
    """A configuration with its deals and who meets whom on them."""

    configuration: Configuration
    deals: Sequence[Dealt]
    pairing: Pairing | Sample


Seatings = dict[tuple[str, str], list[tuple[Seated, ...]]]
"""Seatings by game and pairing."""


def plan(study: Study, tables: Sequence[tuple[Configuration, Sequence[Dealt]]] = ()) -> Plan:
    """Lay out all matches of a study.

    Args:
        tables: configurations with their deals, for a study that takes them from another.

    Raises:
        StudyError: nobody can play a game, or a listed player is not on the roster.
    """
    if study.deals_from is None:
        laid = _tables(study)
    else:
        laid = [Laid(configuration, deals, study.pairing) for configuration, deals in tables]
    idle: list[tuple[str, str]] = []
    seatings: Seatings = {}
    for configuration, _, pairing in laid:
        key = (configuration.game.name, str(pairing))
        if key not in seatings:
            seatings[key] = _seatings(study, configuration.game, pairing, idle)
    _everyone_plays(study, [game for game, _ in seatings], idle)
    for (game, _), rows in seatings.items():
        if not rows:
            raise StudyError(f"players: no seating of the roster can play {game}")
    _no_doubles(seatings)
    if isinstance(study.pairing, Sample):
        chosen = _sample(study, laid, seatings)
    else:
        chosen = _everything(study, laid, seatings)
    distinct = {match.id: match for match in chosen}
    return Plan(study, list(distinct.values()), list(dict.fromkeys(idle)))


def _tables(study: Study) -> list[Laid]:
    laid = []
    for grid in study.games:
        for game in grid.configurations():
            configuration = Configuration(game)
            place = f"{study.seed}/{configuration.digest}"
            count = grid.deals or study.deals
            deals = [Dealt(str(number), f"{place}/{number}") for number in range(count)]
            laid.append(Laid(configuration, deals, grid.pairing or study.pairing))
    return laid


def _everything(study: Study, laid: Sequence[Laid], seatings: Seatings) -> Iterator[PlannedMatch]:
    for configuration, deals, pairing in laid:
        rows = seatings[configuration.game.name, str(pairing)]
        for dealt, seating, repeat in product(deals, rows, range(study.repeats)):
            yield _match(configuration, dealt, seating, repeat)


def _sample(study: Study, laid: Sequence[Laid], seatings: Seatings) -> Iterator[PlannedMatch]:
    """Draw matches without replacement, as evenly over configurations as the numbers allow."""
    assert isinstance(study.pairing, Sample)
    chance = Chance(f"{study.seed}").apart("sample")
    places = [
        (configuration, list(product(deals, rows, range(study.repeats))))
        for configuration, deals, pairing in laid
        for rows in (seatings[configuration.game.name, str(pairing)],)
    ]
    wanted = _spread(study.pairing.sample, [len(room) for _, room in places], chance)
    for (configuration, room), count in zip(places, wanted, strict=True):
        order = chance("seatings", configuration.digest).shuffled(range(len(room)))
        for place in sorted(order[:count]):
            yield _match(configuration, *room[place])


def _spread(total: int, rooms: Sequence[int], chance: Chance) -> list[int]:
    """Spread a number over rooms of limited size as evenly as can be."""
    if total > sum(rooms):
        raise StudyError(f"pairing.sample: {total} matches asked, only {sum(rooms)} are possible")
    taken = [0] * len(rooms)
    open_rooms = [place for place, room in enumerate(rooms) if room]
    while total:
        share, rest = divmod(total, len(open_rooms))
        lucky = set(chance("rest", total).shuffled(open_rooms)[:rest])
        for place in open_rooms:
            more = min(rooms[place] - taken[place], share + (place in lucky))
            taken[place] += more
            total -= more
        open_rooms = [place for place in open_rooms if taken[place] < rooms[place]]
    return taken


def _match(
    configuration: Configuration, dealt: Dealt, seating: tuple[Seated, ...], repeat: int
) -> PlannedMatch:
    deal = "" if dealt.explicit is None else dealt.explicit.model_dump_json()
    players = [player.digest for player in seating]
    identity = digest(configuration.digest, dealt.seed, deal, repeat, *players)
    return PlannedMatch(identity, configuration, dealt, seating, repeat)


def _seatings(
    study: Study, game: Game, pairing: Pairing | Sample, idle: list[tuple[str, str]]
) -> list[tuple[Seated, ...]]:
    able = {label: _seats_of(study, label, game, idle) for label in study.players}
    if isinstance(pairing, list):
        return _listed(pairing, study.swap, game, able)
    if pairing == "self":
        whole = [seats for seats in able.values() if set(seats) == set(game.roles)]
        return [tuple(seats[role] for role in game.roles) for seats in whole]
    candidates = [[seats[role] for seats in able.values() if role in seats] for role in game.roles]
    return list(product(*candidates))


def _seats_of(
    study: Study, label: str, game: Game, idle: list[tuple[str, str]]
) -> dict[str, Seated]:
    seats = {}
    for role in game.roles:
        try:
            spec = study.players[label].seat(game.name, role)
        except ValidationError as error:
            raise StudyError(f"players.{label}: {first_problem(error)}") from None
        except (UnknownName, ValueError) as error:
            raise StudyError(f"players.{label}: {error}") from None
        if spec is not None:
            seats[role] = Seated(label, spec)
    if not seats:
        idle.append((label, game.name))
    return seats


def _listed(
    pairing: list[list[str]],
    swap: bool,
    game: Game,
    able: Mapping[str, Mapping[str, Seated]],
) -> list[tuple[Seated, ...]]:
    rows: dict[tuple[str, ...], tuple[Seated, ...]] = {}
    for labels in pairing:
        for label in labels:
            if label not in able:
                raise StudyError(f"pairing: unknown player {suggest(label, list(able))}")
        if len(labels) != len(game.roles):
            raise StudyError(
                f"pairing: {labels} has {len(labels)} players; {game.name} has "
                f"{len(game.roles)} roles ({', '.join(game.roles)})"
            )
        for order in (labels, labels[::-1]) if swap else (labels,):
            pairs = list(zip(order, game.roles, strict=True))
            if all(role in able[label] for label, role in pairs):
                rows[tuple(order)] = tuple(able[label][role] for label, role in pairs)
    return list(rows.values())


def _everyone_plays(study: Study, games: list[str], idle: list[tuple[str, str]]) -> None:
    """Refuse a player who can sit at no table at all: most likely a misspelt strategy."""
    for label, entry in study.players.items():
        if any((label, game) not in idle for game in games):
            continue
        if entry.strategy is not None:
            known = sorted({name for game in games for name in strategies(game)})
            raise StudyError(
                f"players.{label}: unknown strategy "
                f"{suggest(str(entry.strategy['strategy']), known)}"
            )
        raise StudyError(f"players.{label}: can play none of {', '.join(games)}")


def _no_doubles(seatings: Seatings) -> None:
    """Refuse two labels for one player: their matches would be the same matches."""
    for (game, _), rows in seatings.items():
        labels: dict[str, str] = {}
        for player in (player for row in rows for player in row):
            first = labels.setdefault(player.digest, player.label)
            if first != player.label:
                raise StudyError(
                    f'players: "{first}" and "{player.label}" are the same player in {game}; '
                    "give one of them another setting, or leave one out"
                )


def deal_key(deal: Deal) -> str:
    """A short name for a deal that was taken over from another match."""
    return digest("deal", json.dumps(deal.model_dump(mode="json"), sort_keys=True))
