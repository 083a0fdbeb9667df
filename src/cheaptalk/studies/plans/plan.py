"""The plan of a study: every match it consists of, before anything runs."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from operator import mul
from typing import Any, NamedTuple

from cheaptalk.records import Store, StoreError, StudySummary, configuration_digest, digest
from cheaptalk.records.record import SETTLED
from cheaptalk.rules import Chance, CheaptalkError, Deal, Game, counted
from cheaptalk.studies.plans.seating import Rows, Seated, seat_everyone
from cheaptalk.studies.study import LARGEST, Pairing, Sample, Study, StudyError, parse_study


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


def redealt(laid: Plan, store: Store) -> list[PlannedMatch]:
    """The matches that replace played ones on fresh deals and are not in the plan yet.

    A fresh deal is drawn with the first one's seed and a number behind it, so that it is the same
    however often, and in whatever order, a study is run; all who are dealt afresh in place of one
    deal meet on the same fresh one.
    """
    unanswered = laid.study.unanswered
    if not unanswered.redeal:
        return []
    planned = {match.id for match in laid.matches}
    found: list[PlannedMatch] = []
    latest = laid.matches
    while latest:
        kinds = store.kinds(match.id for match in latest)
        latest = [
            match_of(one.configuration, one.dealt.afresh(), one.seating, one.repeat)
            for one in latest
            if one.dealt.redeals < unanswered.redeals
            and unanswered.of(kinds.get(one.id, {})) == "redeal"
        ]
        found += [match for match in latest if match.id not in planned]
    return list({match.id: match for match in found}.values())


def lay_out(study: Study, store: Store | None) -> Plan:
    """The plan of a study; one that takes its deals from another finds them in the store.

    Raises:
        StudyError: it cannot be laid out.
        OtherVersion: an earlier match was dealt under other rules than those installed.
    """
    if study.deals_from is None:
        laid = plan(study)
        if store is not None:
            laid.matches += redealt(laid, store)
        return laid
    if store is None:
        raise StudyError(
            f'deals_from: there is no store to take "{study.deals_from}" from; name it with --store'
        )
    tables = list(_tables_of(store, study.deals_from))
    if not tables:
        raise StudyError(f'deals_from: "{study.deals_from}" has no finished match in {store.path}')
    return plan(study, tables)


def _tables_of(store: Store, name: str) -> Iterator[tuple[Configuration, list[Dealt]]]:
    """The configurations of a study with the deals and turn orders it was played on."""
    try:
        store.study(name)
    except StoreError as error:
        raise StudyError(f"deals_from: {error}") from None
    found: dict[str, tuple[Configuration, dict[tuple[str, str], Dealt]]] = {}
    for record in store.records(name, bodies=True):
        if record.status not in SETTLED:
            continue
        configuration = Configuration(record.rules)
        _, deals = found.setdefault(configuration.digest, (configuration, {}))
        deal = record.table().deal
        dealt = Dealt(f"{record.deal_key}:{deal_key(deal)}", record.body["seed"], deal)
        deals.setdefault((dealt.key, dealt.seed), dealt)
    for configuration, deals in found.values():
        yield configuration, list(deals.values())


def planned_count(summary: StudySummary, store: Store) -> int | None:
    """How many matches a study in the store consists of; None where that cannot be said.

    A run counts them; a study that only earlier versions ran is laid out again.
    """
    if summary.planned is not None or "players" not in summary.spec:
        return summary.planned
    try:
        return len(lay_out(parse_study(summary.spec, summary.name), store).matches)
    except CheaptalkError:
        return None
