"""Queries of the viewer and reports: pairings, pages of matches, and matches that fit a wish."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records.forfeits import VALID
from cheaptalk.records.lineup import line_up, query_of
from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.records.store import schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.reader import (
    chunks,
    members_of,
    people_of,
    seated_player,
    study_number,
)
from cheaptalk.records.store.store import Store

matches, configurations = schema.matches, schema.configurations
Condition: TypeAlias = sa.ColumnElement[bool]


@dataclass(frozen=True)
class Wanted:
    """Which matches of a study are asked for; what is not set is not asked.

    Attributes:
        game: the game's name.
        places: the game's places in the study, with their roles.
        status: their status.
        player: the label of a player in any place.
        players: labels by place, or by role: of a player in any place of the role.
        kind: matches with an answer of this kind by anyone.
        kinds: kinds by place or role: matches with such an answer there.
        forfeits: labels by place or role: matches that this player forfeited there.
        without: a place that they do not have.
        parameters: words that must all stand in the parameters, written ``name=value``.
        says: what somebody says in a message, in small or capital letters.
        configurations: digests of configurations, any of which will do; see
            :func:`.configuration_digest`.
    """

    game: str
    places: Mapping[str, str]
    status: str | None = None
    player: str | None = None
    players: Mapping[str, str] = field(default_factory=dict)
    kind: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    forfeits: Mapping[str, str] = field(default_factory=dict)
    without: str | None = None
    parameters: str | None = None
    says: str | None = None
    configurations: tuple[str, ...] = ()


def parameters_text(parameters: Mapping[str, Any]) -> str:
    """Parameters as they are searched: ``name=value``, one after the other."""
    return " ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())


def condition(connection: sa.Connection, study: str, wanted: Wanted) -> Condition:
    """What picks the wanted matches of a study out."""
    people = people_of(connection, study)

    def at(name: str) -> list[str]:
        """The places that a name stands for: a place's own, or its role's."""
        return [place for place, role in wanted.places.items() if name in (place, role)]

    terms: list[Condition] = [
        matches.c.number.in_(members_of(study)),
        matches.c.configuration_id.in_(_configurations(connection, wanted)),
        *(_seated(people, at(name), label) for name, label in wanted.players.items()),
        *(_gave(at(name), kind) for name, kind in wanted.kinds.items()),
        *(_forfeited(people, at(name), label) for name, label in wanted.forfeits.items()),
    ]
    if wanted.status:
        terms.append(matches.c.status == wanted.status)
    if wanted.player:
        terms.append(_seated(people, wanted.places, wanted.player))
    if wanted.kind:
        terms.append(_gave(wanted.places, wanted.kind))
    if wanted.without:
        terms.append(matches.c.seats[wanted.without].as_integer().is_(None))
    return sa.and_(*terms)


def _seated(
    people: Mapping[int, Mapping[str, Any]], places: Iterable[str], label: str
) -> Condition:
    who = [number for number, player in people.items() if player["label"] == label]
    seats = [matches.c.seats[place].as_integer().in_(who) for place in places]
    return sa.or_(sa.false(), *seats)


def _gave(places: Iterable[str], kind: str) -> Condition:
    gave = [matches.c.kinds[(place, kind)].as_integer() > 0 for place in places]
    return sa.or_(sa.false(), *gave)


def _forfeited(
    people: Mapping[int, Mapping[str, Any]], places: Iterable[str], label: str
) -> Condition:
    invalid = [kind for kind in Kind if kind not in VALID]
    by = [
        sa.and_(_seated(people, [place], label), sa.or_(*(_gave([place], one) for one in invalid)))
        for place in places
    ]
    return sa.and_(matches.c.status == Status.FORFEITED.value, sa.or_(sa.false(), *by))


def _configurations(connection: sa.Connection, wanted: Wanted) -> list[int]:
    """The configurations of a game that are asked for, with all words in their parameters."""
    query = sa.select(configurations.c.id, configurations.c.parameters).where(
        configurations.c.game == wanted.game
    )
    if wanted.configurations:
        query = query.where(configurations.c.digest.in_(wanted.configurations))
    words = (wanted.parameters or "").casefold().split()
    found = []
    for number, parameters in connection.execute(query):
        text = parameters_text(parameters).casefold()
        if all(word in text for word in words):
            found.append(number)
    return found


members, studies = schema.members, schema.studies


class PlayedPairing(NamedTuple):
    """The matches of one game with the same players in the same places.

    Attributes:
        game: its name.
        players: labels by place.
        counts: how many matches there are of each status.
        without: a place that other matches of the game have and these do not.
    """

    game: str
    players: dict[str, str]
    counts: dict[str, int]
    without: str | None = None

    @property
    def label(self) -> str:
        """The players in one line."""
        return line_up(list(self.players.values()))

    @property
    def query(self) -> dict[str, str]:
        """What picks its matches out: labels by ``player.PLACE``, and what they are ``without``."""
        return query_of(self.players, self.without)


SEARCHED = 2_000
"""Matches whose messages are searched for one page."""


class MatchPage(NamedTuple):
    """Some matches; ``after`` is where the next page begins, None at the end.

    ``searched`` is how many matches had to be read for what was said in them, if any had to.
    """

    records: list[MatchRecord]
    after: str | None
    searched: int = 0


class Overview(NamedTuple):
    """What takes a look at all matches of a study.

    Attributes:
        pairings: all of them with their matches counted, by game and labels.
        places: those of each game, over all its configurations in order, with their roles. Games
            of which no match has begun are left out.
    """

    pairings: list[PlayedPairing]
    places: dict[str, dict[str, str]]


def overview(store: Store, study: str, *, past: bool = False) -> Overview:
    """Who met whom in a study, and where they sat: one look at all its matches.

    Args:
        past: also at those of earlier forms of the study, which are set aside.
    """
    query = (
        sa.select(
            configurations.c.game, schema.SEATS_TEXT, matches.c.status, sa.func.count(),
            sa.func.min(matches.c.number),
        )
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(members_of(study, past=past)))
        .group_by(configurations.c.game, schema.SEATS_TEXT, matches.c.status)
    )  # fmt: skip
    found: dict[tuple[Any, ...], PlayedPairing] = {}
    firsts: dict[tuple[Any, ...], int] = {}
    with store.reading() as connection:
        labels = people_of(connection, study)
        for game, text, status, number, first in connection.execute(query):
            seated = schema.SEATS.read(text)
            people = {at: seated_player(labels, player)["label"] for at, player in seated.items()}
            pairing = found.setdefault((game, *people.items()), PlayedPairing(game, people, {}))
            pairing.counts[status] = pairing.counts.get(status, 0) + number
            firsts[game, *people] = min(first, firsts.get((game, *people), first))
    places = _places(store, study, firsts.values())
    missing = {
        key: next((place for place in places[one.game] if place not in one.players), None)
        for key, one in found.items()
    }
    return Overview([found[key]._replace(without=missing[key]) for key in sorted(found)], places)


def places_of(store: Store, study: str, *, past: bool = False) -> dict[str, dict[str, str]]:
    """The places of each game of a study with their roles; see :class:`Overview`."""
    ours = sa.exists().where(
        members.c.study_id == study_number(study), members.c.match_number == matches.c.number,
        sa.true() if past else members.c.current,
    )  # fmt: skip
    one = (
        sa.select(matches.c.number)
        .where(matches.c.configuration_id == configurations.c.id, ours)
        .limit(1)
        .scalar_subquery()
    )
    with store.reading() as connection:
        numbers = connection.scalars(sa.select(one).select_from(configurations)).all()
    return _places(store, study, (number for number in numbers if number is not None))


def _places(store: Store, study: str, numbers: Iterable[int]) -> dict[str, dict[str, str]]:
    """The places of games, read off one match of each set of places."""
    sizes: dict[str, list[dict[str, str]]] = {}
    for record in store.records(study, where=matches.c.number.in_(list(numbers)), past=True):
        sizes.setdefault(record.game, []).append(record.places)
    return {game: united(of) for game, of in sizes.items()}


def united(sizes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Places of several configurations together: those of the largest, then what others add."""
    joined: dict[str, str] = {}
    for places in sorted(sizes, key=len, reverse=True):
        joined |= {place: role for place, role in places.items() if place not in joined}
    return joined


def count(store: Store, study: str, wanted: Wanted) -> int:
    """How many matches of a study are wanted, whatever is said in them."""
    with store.reading() as connection:
        query = sa.select(sa.func.count()).where(condition(connection, study, wanted))
        return connection.scalar(query) or 0


def page(
    store: Store, study: str, wanted: Wanted, *, after: str | None = None, size: int = 50
) -> MatchPage:
    """Some of the wanted matches, in the order of storing, from behind a match on.

    What is said is looked for in so many matches a page; a page may then hold few, or none, and
    not be the last.
    """
    with store.reading() as connection:
        where = condition(connection, study, wanted)
        if after is not None:
            last = sa.select(matches.c.number).where(matches.c.id == after).scalar_subquery()
            where = sa.and_(where, matches.c.number > last)
    if wanted.says:
        return _saying(wanted.says, store.records(study, bodies=True, where=where), size)
    found = list(islice(store.records(study, where=where), size + 1))
    return MatchPage(found[:size], found[size - 1].id if len(found) > size else None)


def _saying(says: str, records: Iterator[MatchRecord], size: int) -> MatchPage:
    """The first of these matches in which somebody says something."""
    found: list[MatchRecord] = []
    last, searched = None, 0
    for record in records:
        if len(found) == size or searched == SEARCHED:
            return MatchPage(found, last, searched)
        last, searched = record.id, searched + 1
        said = (answer.get("action") or {} for answer in record.body.get("answers", ()))
        if any(says.casefold() in str(one.get("message", "")).casefold() for one in said):
            found.append(record)
    return MatchPage(found, None, searched)


def match(store: Store, id_: str, study: str | None = None) -> MatchRecord:
    """One match with its body, its players labelled as in a study.

    Raises:
        StoreError: there is no such match, or not in this study.
    """
    for record in store.records(study, bodies=True, where=matches.c.id == id_):
        return record
    raise StoreError(f'no match "{id_}" in {study or store.title}')


def some(store: Store, study: str, ids: Sequence[str], batch: int = 200) -> Iterator[MatchRecord]:
    """These matches of a study with their bodies, read so many at once, in the order of ids."""
    for wanted in chunks(ids, batch):
        found = store.records(study, bodies=True, where=matches.c.id.in_(wanted))
        by_id = {record.id: record for record in found}
        yield from (by_id[id_] for id_ in wanted if id_ in by_id)


def ended_matches(
    store: Store, study: str, status: Status, player: str | None = None
) -> list[tuple[str, str]]:
    """The ids and games of a study's matches that ended so, in the order of storing.

    Args:
        player: a label: those alone in which this player sits.
    """
    query = (
        sa.select(matches.c.id, configurations.c.game)
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(members_of(study)), matches.c.status == status.value)
        .order_by(matches.c.number)
    )
    places = {place for one in places_of(store, study).values() for place in one} if player else ()
    with store.reading() as connection:
        if player:
            query = query.where(_seated(people_of(connection, study), places, player))
        return [(id_, game) for id_, game in connection.execute(query)]


ORDERS = {
    "stored": matches.c.number, "begun": matches.c.begun, "finished": matches.c.finished,
    "game": configurations.c.game, "state": matches.c.status, "calls": matches.c.calls,
    "tokens": matches.c.input_tokens + matches.c.output_tokens, "dollars": matches.c.dollars,
}  # fmt: skip
"""What matches can be sorted by."""


def in_state(states: Iterable[str]) -> Any:
    """A condition on matches: how far they have come."""
    return matches.c.status.in_(list(states))


def games_in(store: Store) -> list[str]:
    """The games of which the store has configurations."""
    with store.reading() as connection:
        return sorted(connection.scalars(sa.select(configurations.c.game).distinct()))


def labels_in(store: Store, study: str | None = None) -> list[str]:
    """What the players of a study, or of all, are called."""
    rosters = schema.rosters
    query = sa.select(rosters.c.label).join(studies, studies.c.id == rosters.c.study_id).distinct()
    own = query if study is None else query.where(studies.c.name == study)
    with store.reading() as connection:
        return sorted(connection.scalars(own))


def studies_of(store: Store, id_: str) -> list[str]:
    """The names of the studies that a match is part of."""
    query = (
        sa.select(studies.c.name)
        .join(members, members.c.study_id == studies.c.id)
        .join(matches, matches.c.number == members.c.match_number)
        .where(matches.c.id == id_)
        .order_by(studies.c.id)
    )
    with store.reading() as connection:
        return list(connection.scalars(query))
