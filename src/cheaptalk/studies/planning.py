"""The plan of a study: every match it consists of, before anything runs."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from operator import mul
from typing import Any, NamedTuple

from cheaptalk.records import configuration_digest, digest
from cheaptalk.rules import Chance, Deal, Game, counted
from cheaptalk.studies.seating import Rows, Seated, seat_everyone
from cheaptalk.studies.spec import LARGEST, Pairing, Sample, Study, StudyError


@dataclass(frozen=True, eq=False)
class Configuration:
    """A game with its parameters."""

    game: Game

    @cached_property
    def digest(self) -> str:
        return configuration_digest(self.game)

    @property
    def stored(self) -> tuple[str, int, dict[str, Any]]:
        """What the store keeps of it."""
        return self.game.name, self.game.version, self.game.model_dump(mode="json")


class Dealt(NamedTuple):
    """A deal: the seed it is drawn with, or the deal itself where it was taken over.

    ``key`` is equal for matches that share the deal. One that was drawn in place of another has
    that one's key and seed with a number behind them.

    >>> Dealt("3", "0/abc/3").afresh().afresh()
    Dealt(key='3+2', seed='0/abc/3+2', explicit=None)
    """

    key: str
    seed: str
    explicit: Deal | None = None

    @property
    def redeals(self) -> int:
        """How many deals came before in its place."""
        return int(self.key.partition("+")[2] or 0)

    def afresh(self) -> "Dealt":
        """The next deal in its place."""
        number = self.redeals + 1
        key, seed = (text.partition("+")[0] for text in (self.key, self.seed))
        return Dealt(f"{key}+{number}", f"{seed}+{number}")


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
        whole: whether these are all matches of the study. Only then does a run set others aside.
    """

    study: Study
    matches: list[PlannedMatch]
    idle: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = False

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
    """A configuration with its deals and the pairing of those who meet on them."""

    configuration: Configuration
    deals: Sequence[Dealt]
    pairing: Pairing | Sample


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
    seatings, idle = seat_everyone(study, [(one.configuration.game, one.pairing) for one in laid])
    deals = [len(one.deals) for one in laid]
    _not_too_many(study.repeats * sum(map(mul, deals, map(len, seatings))))
    if isinstance(study.pairing, Sample):
        chosen = _sample(study, laid, seatings)
    else:
        chosen = _everything(study, laid, seatings)
    distinct = {match.id: match for match in chosen}
    return Plan(study, list(distinct.values()), idle, whole=True)


def _not_too_many(matches: int) -> None:
    """Refuse to lay out more matches than memory holds, before trying."""
    if matches > LARGEST:
        raise StudyError(
            f"deals: {matches:,} matches are possible, more than {LARGEST:,}; "
            "play fewer deals or repeats, or several studies"
        )


def _tables(study: Study) -> list[Laid]:
    laid: list[Laid] = []
    listed = [(grid, grid.configurations()) for grid in study.games]
    _not_too_many(sum(len(games) * (grid.deals or study.deals) for grid, games in listed))
    for grid, games in listed:
        for game in games:
            configuration = Configuration(game)
            place = f"{study.seed}/{configuration.digest}"
            count = grid.deals or study.deals
            deals = [Dealt(str(number), f"{place}/{number}") for number in range(count)]
            laid.append(Laid(configuration, deals, grid.pairing or study.pairing))
    return laid


def _everything(
    study: Study, laid: Sequence[Laid], seatings: Sequence[Rows]
) -> Iterator[PlannedMatch]:
    for (configuration, deals, _), rows in zip(laid, seatings, strict=True):
        for dealt, seating, repeat in product(deals, rows, range(study.repeats)):
            yield match_of(configuration, dealt, seating, repeat)


def _sample(study: Study, laid: Sequence[Laid], rows: Sequence[Rows]) -> Iterator[PlannedMatch]:
    """Draw matches without replacement, as evenly over configurations as the numbers allow."""
    assert isinstance(study.pairing, Sample)
    chance = Chance(f"{study.seed}").apart("sample")
    rooms = [len(one.deals) * len(row) * study.repeats for one, row in zip(laid, rows, strict=True)]
    wanted = _spread(study.pairing.sample, rooms, chance)
    for (configuration, deals, _), row, room, count in zip(laid, rows, rooms, wanted, strict=True):
        order = chance("seatings", configuration.digest).shuffled(range(room))
        for place in sorted(order[:count]):
            pair, repeat = divmod(place, study.repeats)
            deal, seating = divmod(pair, len(row))
            yield match_of(configuration, deals[deal], row[seating], repeat)


def _spread(total: int, rooms: Sequence[int], chance: Chance) -> list[int]:
    """Spread a number over rooms of limited size as evenly as can be."""
    if total > sum(rooms):
        raise StudyError(
            f"pairing.sample: {counted(total, 'match')} asked, only {sum(rooms):,} are possible"
        )
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


def match_of(
    configuration: Configuration, dealt: Dealt, seating: tuple[Seated, ...], repeat: int
) -> PlannedMatch:
    """A match with its identity."""
    deal = "" if dealt.explicit is None else dealt.explicit.model_dump_json()
    players = [player.digest for player in seating]
    identity = digest(configuration.digest, dealt.seed, deal, repeat, *players)
    return PlannedMatch(identity, configuration, dealt, seating, repeat)


def deal_key(deal: Deal) -> str:
    """A short name for a deal that was taken over from another match."""
    return digest("deal", json.dumps(deal.model_dump(mode="json"), sort_keys=True))
