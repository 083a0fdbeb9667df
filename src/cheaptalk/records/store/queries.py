"""Queries of the viewer and of reports: pairings, pages of matches, and filtered matches."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from cheaptalk.players import Kind
from cheaptalk.records.descriptions import VALID, line_up, viewer_query
from cheaptalk.records.identity import Configuration
from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.records.store import reader, schema
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.records.store.store import Store
from cheaptalk.records.validation import DamagedValue

matches, configurations = schema.matches, schema.configurations
Condition: TypeAlias = sa.ColumnElement[bool]


@dataclass(frozen=True)
class MatchFilter:
    """A filter for the matches of a study, in which unset attributes match all values.

    Attributes:
        seats: the game's seats in the study, with their roles.
        player: the label of a player in any seat.
        players, kinds, forfeits: labels, kinds of answers, and labels of players that forfeited, by
            seat or by role (a player in any seat of the role).
        kind: an answer of this kind by any player.
        without: a seat that the matches don't have.
        parameters: words that the parameters, written ``name=value``, must all contain.
        says: a text in any message, case-insensitive.
        configurations: digests of alternative configurations; see :func:`.configuration_digest`.
    """

    game: str
    seats: Mapping[str, str]
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


def condition(connection: sa.Connection, study: str, match_filter: MatchFilter) -> Condition:
    """Return the SQL condition of a filter."""
    people = reader.people_of(connection, study)

    def seats_named(name: str) -> list[str]:
        """Return the seats whose name or role is ``name``."""
        return [seat for seat, role in match_filter.seats.items() if name in (seat, role)]

    terms: list[Condition] = [
        matches.c.number.in_(reader.members_of(study)),
        matches.c.configuration_id.in_(_configurations(connection, match_filter)),
    ]
    for name, label in match_filter.players.items():
        terms.append(_seated(people, seats_named(name), label))
    for name, kind in match_filter.kinds.items():
        terms.append(_gave(seats_named(name), kind))
    for name, label in match_filter.forfeits.items():
        terms.append(_forfeited(people, seats_named(name), label))
    if match_filter.status:
        terms.append(matches.c.status == match_filter.status)
    if match_filter.player:
        terms.append(_seated(people, match_filter.seats, match_filter.player))
    if match_filter.kind:
        terms.append(_gave(match_filter.seats, match_filter.kind))
    if match_filter.without:
        terms.append(matches.c.seats[match_filter.without].as_integer().is_(None))
    return sa.and_(*terms)


def _seated(people: Mapping[int, Mapping[str, Any]], seats: Iterable[str], label: str) -> Condition:
    numbers = [number for number, player in people.items() if player["label"] == label]
    terms = [matches.c.seats[seat].as_integer().in_(numbers) for seat in seats]
    return sa.or_(sa.false(), *terms)


def _gave(seats: Iterable[str], kind: str) -> Condition:
    terms = [matches.c.kinds[(seat, kind)].as_integer() > 0 for seat in seats]
    return sa.or_(sa.false(), *terms)


def _forfeited(
    people: Mapping[int, Mapping[str, Any]], seats: Iterable[str], label: str
) -> Condition:
    invalid = [kind for kind in Kind if kind not in VALID]
    terms = [
        sa.and_(_seated(people, [seat], label), sa.or_(*(_gave([seat], kind) for kind in invalid)))
        for seat in seats
    ]
    return sa.and_(matches.c.status == Status.FORFEITED.value, sa.or_(sa.false(), *terms))


def _configurations(connection: sa.Connection, match_filter: MatchFilter) -> list[int]:
    query = sa.select(configurations.c.id, configurations.c.parameters).where(
        configurations.c.game == match_filter.game
    )
    if match_filter.configurations:
        query = query.where(configurations.c.digest.in_(match_filter.configurations))
    words = (match_filter.parameters or "").casefold().split()
    numbers = []
    for number, parameters in connection.execute(query):
        texts = (f"{name}={json.dumps(value)}" for name, value in parameters.items())
        searched = " ".join(texts).casefold()
        if all(word in searched for word in words):
            numbers.append(number)
    return numbers


members, studies = schema.members, schema.studies


class PlayedPairing(NamedTuple):
    """The matches of one game with the same players in the same seats, counted by status.

    ``players`` are labels by seat; ``without`` is a seat of other matches that these don't have.
    """

    game: str
    players: dict[str, str]
    counts: dict[str, int]
    without: str | None = None

    @property
    def label(self) -> str:
        return line_up(list(self.players.values()))

    @property
    def query(self) -> dict[str, str]:
        """URL query with which the viewer shows the matches of the pairing."""
        return viewer_query(self.players, self.without)


SEARCHED = 2_000
"""Maximum number of matches whose messages are searched for one page."""


class MatchPage(NamedTuple):
    """A page of matches, with the id after which the next page begins (None on the last page).

    ``searched`` is the number of matches whose messages were searched.
    """

    records: list[MatchRecord]
    after: str | None
    searched: int = 0


class StudyPairings(NamedTuple):
    """The pairings of a study, sorted by game and labels, and the seats of its games.

    The seats are those of all configurations, with their roles, of games with matches.
    """

    pairings: list[PlayedPairing]
    seats: dict[str, dict[str, str]]


def overview(store: Store, study: str, *, past: bool = False) -> StudyPairings:
    """Return all pairings of a study's players with match counts, and the seats of its games."""
    query = (
        sa.select(
            configurations.c.game,
            schema.SEATS_TEXT,
            matches.c.status,
            sa.func.count(),
            sa.func.min(matches.c.number),
        )
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(reader.members_of(study, past=past)))
        .group_by(configurations.c.game, schema.SEATS_TEXT, matches.c.status)
    )
    pairings: dict[tuple[Any, ...], PlayedPairing] = {}
    firsts: dict[tuple[Any, ...], int] = {}
    with store.reading() as connection:
        labels = reader.people_of(connection, study)
        for game, text, status, count, first in connection.execute(query):
            seats = schema.SEATS.read(text)
            people = {seat: reader.seated_player(labels, number) for seat, number in seats.items()}
            players = {seat: player["label"] for seat, player in people.items()}
            new = PlayedPairing(game, players, {})
            pairing = pairings.setdefault((game, *players.items()), new)
            pairing.counts[status] = pairing.counts.get(status, 0) + count
            firsts[game, *players] = min(first, firsts.get((game, *players), first))
    game_seats = _seats(store, firsts.values())
    missing = {
        key: next((seat for seat in game_seats[pairing.game] if seat not in pairing.players), None)
        for key, pairing in pairings.items()
    }
    complete = [pairings[key]._replace(without=missing[key]) for key in sorted(pairings)]
    return StudyPairings(complete, game_seats)


def seats_of(store: Store, study: str, *, past: bool = False) -> dict[str, dict[str, str]]:
    """Return the seats of each game of a study, with their roles."""
    is_member = sa.exists().where(
        members.c.study_id == reader.study_number(study),
        members.c.match_number == matches.c.number,
        sa.true() if past else members.c.current,
    )
    first_match = (
        sa.select(matches.c.number)
        .where(matches.c.configuration_id == configurations.c.id, is_member)
        .limit(1)
        .scalar_subquery()
    )
    numbers = store.scalars(sa.select(first_match).select_from(configurations))
    return _seats(store, (number for number in numbers if number is not None))


def has_chat(store: Store, study: str) -> bool:
    """Return whether a study, including its superseded matches, has a game with chat."""
    when = configurations.c.parameters["chat"]["when"].as_string()
    query = (
        sa.select(configurations.c.id)
        .join(matches, matches.c.configuration_id == configurations.c.id)
        .where(when.is_not(None), matches.c.number.in_(reader.members_of(study, past=True)))
    )
    return store.scalar(query.limit(1)) is not None


def _seats(store: Store, numbers: Iterable[int]) -> dict[str, dict[str, str]]:
    """Return the seats and roles of each game, as found in the given matches."""
    known: dict[int, Configuration] = {}
    by_game: dict[str, list[dict[str, str]]] = {}
    query = sa.select(matches.c.configuration_id, schema.SEATS_TEXT)
    with store.backend.explaining(), store.reading() as connection:
        for chunk in reader.chunks(numbers):
            rows = connection.execute(query.where(matches.c.number.in_(chunk))).all()
            reader.load_configurations(
                known, {configuration for configuration, _ in rows}, connection
            )
            for configuration, text in rows:
                game, roles = known[configuration].game, known[configuration].roles
                seats = {seat: roles.get(seat, seat) for seat in schema.SEATS.read(text)}
                if roles and seats.keys() != roles.keys():
                    raise DamagedValue(f"the seats of {game} are {', '.join(roles)}")
                by_game.setdefault(game, []).append(seats)
    return {game: united(variants) for game, variants in by_game.items()}


def united(variants: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Merge the seats and roles of several configurations, starting with the largest one."""
    united_seats: dict[str, str] = {}
    for seats in sorted(variants, key=len, reverse=True):
        united_seats |= {seat: role for seat, role in seats.items() if seat not in united_seats}
    return united_seats


def count(store: Store, study: str, match_filter: MatchFilter) -> int:
    """Count the matches that satisfy a filter, without applying its search for a text."""
    with store.reading() as connection:
        query = sa.select(sa.func.count()).where(condition(connection, study, match_filter))
        return connection.scalar(query) or 0


def page(
    store: Store, study: str, match_filter: MatchFilter, *, after: str | None = None, size: int = 50
) -> MatchPage:
    """Return a page of matches that satisfy a filter, starting after a given match.

    The messages of only a limited number of matches per page are searched. Therefore a page may
    contain few matches or none and still not be the last page.
    """
    with store.reading() as connection:
        where = condition(connection, study, match_filter)
        if after is not None:
            last = sa.select(matches.c.number).where(matches.c.id == after).scalar_subquery()
            where = sa.and_(where, matches.c.number > last)
    if match_filter.says:
        return _saying(match_filter.says, store.records(study, bodies=True, where=where), size)
    records = list(islice(store.records(study, where=where), size + 1))
    return MatchPage(records[:size], records[size - 1].id if len(records) > size else None)


def _saying(says: str, records: Iterator[MatchRecord], size: int) -> MatchPage:
    """Return a page of matches in which a message contains a given text."""
    matching: list[MatchRecord] = []
    last, searched = None, 0
    for record in records:
        if len(matching) == size or searched == SEARCHED:
            return MatchPage(matching, last, searched)
        last, searched = record.id, searched + 1
        actions = (answer.get("action") or {} for answer in record.body.get("answers", ()))
        texts = [str(action.get("message", "")) for action in actions]
        texts += [line["text"] or "" for line in record.body.get("chat", ())]
        if any(says.casefold() in text.casefold() for text in texts):
            matching.append(record)
    return MatchPage(matching, None, searched)


def match(store: Store, id_: str, study: str | None = None) -> MatchRecord:
    """Return a complete match, labelled as in a study; raise StoreError if it is missing."""
    for record in store.records(study, bodies=True, where=matches.c.id == id_):
        return record
    raise StoreError(f'no match "{id_}" in {study or store.title}')


def read_records(
    store: Store, study: str, ids: Sequence[str], batch: int = 200
) -> Iterator[MatchRecord]:
    """Yield complete matches of a study in the order of the given ids, read in batches."""
    for batch_ids in reader.chunks(ids, batch):
        records = store.records(study, bodies=True, where=matches.c.id.in_(batch_ids))
        by_id = {record.id: record for record in records}
        yield from (by_id[id_] for id_ in batch_ids if id_ in by_id)


def ended_matches(
    store: Store, study: str, status: Status, player: str | None = None
) -> list[tuple[str, str]]:
    """Return ids and games of a study's matches with a status, in storage order.

    With ``player``, only matches in which a player with this label has a seat.
    """
    query = (
        sa.select(matches.c.id, configurations.c.game)
        .join(configurations, configurations.c.id == matches.c.configuration_id)
        .where(matches.c.number.in_(reader.members_of(study)), matches.c.status == status.value)
        .order_by(matches.c.number)
    )
    by_game = seats_of(store, study).values() if player else ()
    seats = {seat for game_seats in by_game for seat in game_seats}
    with store.reading() as connection:
        if player:
            query = query.where(_seated(reader.people_of(connection, study), seats, player))
        return [(id_, game) for id_, game in connection.execute(query)]


ORDERS = {
    "stored": matches.c.number,
    "begun": matches.c.begun,
    "finished": matches.c.finished,
    "game": configurations.c.game,
    "state": matches.c.status,
    "calls": matches.c.calls,
    "tokens": matches.c.input_tokens + matches.c.output_tokens,
    "dollars": matches.c.dollars,
}
"""Sort orders of matches."""


def status_condition(states: Iterable[str]) -> Any:
    """Return the SQL condition that a match has one of the given statuses."""
    return matches.c.status.in_(list(states))


@reads
def games_in(store: StoreLike) -> list[str]:
    """Return the names of all games in the store."""
    assert isinstance(store, Store)
    return sorted(store.scalars(sa.select(configurations.c.game).distinct()))


@reads
def labels_in(store: StoreLike, study: StudyLike | None = None) -> list[str]:
    """Return the labels of the players of a study, or of all studies."""
    assert isinstance(store, Store)
    assert study is None or isinstance(study, str)
    rosters = schema.rosters
    query = sa.select(rosters.c.label).join(studies, studies.c.id == rosters.c.study_id).distinct()
    selected = query if study is None else query.where(studies.c.name == study)
    return sorted(store.scalars(selected))


@reads
def studies_of(store: StoreLike, id_: str) -> list[str]:
    """Return the names of the studies that contain a match."""
    assert isinstance(store, Store)
    query = (
        sa.select(studies.c.name)
        .join(members, members.c.study_id == studies.c.id)
        .join(matches, matches.c.number == members.c.match_number)
        .where(matches.c.id == id_)
        .order_by(studies.c.id)
    )
    return list(store.scalars(query))
