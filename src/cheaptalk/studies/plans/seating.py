"""Who meets whom: the seatings that a study's roster and pairing make at each game."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from math import prod
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError

from cheaptalk.players import ModelSeat, SeatSpec
from cheaptalk.records import player_digest
from cheaptalk.rules import CheaptalkError, Game, UnknownName, counted, suggest
from cheaptalk.rules.errors import first_problem
from cheaptalk.studies.factors import crossing_advice
from cheaptalk.studies.study import (
    MOST_SEATINGS,
    Listed,
    Pairing,
    Sample,
    Study,
    StudyError,
    seating_text,
)


@dataclass(frozen=True, eq=False)
class Seated:
    """A player as it sits down: what the study calls it, and its settings."""

    label: str
    spec: SeatSpec

    @cached_property
    def digest(self) -> str:
        return player_digest(self.spec)

    @cached_property
    def scripted(self) -> bool:
        return self.spec.instant

    @cached_property
    def asked(self) -> bool:
        """Whether it is a model or a person, of whom an answer may not come."""
        return self.spec.may_fail


Seats: TypeAlias = dict[str, Seated]
"""One player in every place that it can take at a game."""
Rows: TypeAlias = list[tuple[Seated, ...]]
"""Seatings, each in the order of a game's places."""
TableKind: TypeAlias = tuple[str, tuple[str, ...], str]
"""What decides who can sit at a table: a game, its places, of which configurations of one game may
have different ones, and its parameters where a player goes by them."""


class Seatings(NamedTuple):
    """A study's roster, seated.

    Attributes:
        rows: the seatings of each table.
        idle: players who can sit at no table of some game, as (label, game).
        unseated: players whom no pairing seats anywhere, by label.
    """

    rows: list[Rows]
    idle: list[tuple[str, str]]
    unseated: list[str]


def seat_everyone(study: Study, tables: Sequence[tuple[Game, Pairing | Sample]]) -> Seatings:
    """Seat a study's roster at its games.

    Raises:
        StudyError: a player or a listed seating can sit nowhere, nobody can play a game, two
            labels stand for one player, or there are too many seatings to list.
    """
    exact = any(entry.form.exact for entry in study.players.values())

    def kind_of(game: Game) -> TableKind:
        return game.name, tuple(game.places), game.model_dump_json() if exact else ""

    kinds = {kind_of(game): game for game, _ in tables}
    _known_parts(study, list(kinds.values()))
    named: dict[TableKind, set[str]] = {}
    for game, pairing in tables:
        labels = chain.from_iterable(pairing) if isinstance(pairing, list) else study.players
        named.setdefault(kind_of(game), set()).update(labels)
    able = {
        kind: {
            label: _seats(study, label, game)
            if label in named[kind] or not entry.form.exact
            else {}
            for label, entry in study.players.items()
        }
        for kind, game in kinds.items()
    }
    names = list(dict.fromkeys(name for name, *_ in kinds))
    idle = [
        (label, name) for name in names for label in study.players
        if not any(seats[label] for (other, *_), seats in able.items() if other == name)
    ]  # fmt: skip
    for label, entry in study.players.items():
        if all((label, name) in idle for name in names):  # most likely a misspelt strategy
            raise StudyError(f"players.{label}: {entry.form.why_idle(names)}")
    made: dict[tuple[TableKind, str], Rows] = {}
    for game, pairing in tables:
        key = kind_of(game), str(pairing)
        if key not in made:
            made[key] = _seatings(pairing, study.swap, game, able[key[0]])
    _listed_sit(study, [pairing for _, pairing in tables], list(made.values()), names)
    seated: set[str] = set()
    for (kind, _), rows in made.items():
        if not rows:
            raise StudyError(f"players: no seating of the roster can play {kind[0]}")
        players = dict.fromkeys(chain.from_iterable(rows))
        _no_doubles(kind[0], players)
        for player in players:
            _still_is(player)
        seated.update(player.label for player in players)
    return Seatings(
        [made[kind_of(game), str(pairing)] for game, pairing in tables], idle,
        [label for label in study.players if label not in seated],
    )  # fmt: skip


def _known_parts(study: Study, games: Sequence[Game]) -> None:
    """Refuse strategies for a role or place that no configuration of the game has."""
    for name in {game.name for game in games}:
        one_name = [game for game in games if game.name == name]
        known = list(dict.fromkeys(chain(one_name[0].roles, *(game.places for game in one_name))))
        what = "role" if known == list(one_name[0].roles) else "role or place"
        for label, entry in study.players.items():
            for part in entry.parts(name):
                if part not in known:
                    raise StudyError(
                        f"players.{label}: unknown {what} {suggest(str(part), known)} of {name}"
                    )


def _seats(study: Study, label: str, game: Game) -> Seats:
    """A player in every place that it can take; one object where it is the same player."""
    seats: Seats = {}
    alike: dict[str, Seated] = {}
    for place in game.places:
        try:
            spec = study.players[label].seat(game, place)
        except ValidationError as error:
            problem = f"players.{label}: {first_problem(error)}"
            advice = crossing_advice({label: study.players[label].written()}, problem)
            raise StudyError(problem + advice) from None
        except (CheaptalkError, ValueError) as error:
            raise StudyError(f"{_where(study, label, game)}: {error}") from None
        if spec is not None:
            seated = Seated(label, spec)
            seats[place] = alike.setdefault(seated.digest, seated)
    return seats


def _where(study: Study, label: str, game: Game) -> str:
    """Where a setting stands that does not go with a game: with all models, or with the player."""
    spec = study.players[label].form
    if not isinstance(spec, ModelSeat):
        return f"players.{label}"
    for key, value in study.models.items():
        shared = ModelSeat.model_validate({"model": spec.model, key: value})
        if getattr(shared, key) == getattr(spec, key):
            try:
                spec.model_copy(update={key: ModelSeat.model_fields[key].default}).seat(
                    game, next(iter(game.places))
                )
            except (UnknownName, ValueError):
                continue
            return "models"
    return f"players.{label}"


def _seatings(pairing: Pairing | Sample, swap: bool, game: Game, able: Mapping[str, Seats]) -> Rows:
    if isinstance(pairing, list):
        return _listed(pairing, swap, game, able)
    if pairing == "self":
        whole = [seats for seats in able.values() if set(seats) == set(game.places)]
        return [tuple(seats[place] for place in game.places) for seats in whole]
    candidates = [
        [seats[place] for seats in able.values() if place in seats] for place in game.places
    ]
    number = prod(map(len, candidates))
    if number > MOST_SEATINGS:
        raise StudyError(
            f"pairing: the roster fills the {len(game.places)} places of {game.name} in "
            f"{number:,} ways, more than {MOST_SEATINGS:,}; list the seatings, write self, or name "
            "fewer players"
        )
    return list(product(*candidates))


def _listed(pairing: list[Listed], swap: bool, game: Game, able: Mapping[str, Seats]) -> Rows:
    rows: dict[tuple[str, ...], tuple[Seated, ...]] = {}
    for listed in pairing:
        for label in listed:
            if label not in able:
                raise StudyError(f"pairing: unknown player {suggest(label, list(able))}")
        _fills(listed, game)
        for order in _orders(listed, swap):
            pairs = list(zip(order, game.places, strict=True))
            if all(place in able[label] for label, place in pairs):
                rows[order] = tuple(able[label][place] for label, place in pairs)
    return list(rows.values())


def _fills(listed: Listed, game: Game) -> None:
    """Refuse a listed seating for another number of places than a game has."""
    count = len(listed) if isinstance(listed, list) else sum(listed.values())
    places = list(game.places)
    if count != len(places):
        shown = ", ".join(places) if len(places) <= 3 else f"{places[0]} to {places[-1]}"
        cure = "" if places == list(game.roles) else "; list those of each size beside its game"
        raise StudyError(
            f"pairing: {seating_text(listed)} fills {counted(count, 'place')}; "
            f"{game.name} has {len(places)} ({shown}){cure}"
        )


def _orders(listed: Listed, swap: bool) -> list[tuple[str, ...]]:
    """The orders in which a listed seating is played: as written, or turned to every place."""
    pairs = [(label, 1) for label in listed] if isinstance(listed, list) else listed.items()
    labels = tuple(label for label, count in pairs for _ in range(count))
    turns = range(len(labels) if swap else 1)
    return list(dict.fromkeys(labels[-turn:] + labels[:-turn] for turn in turns))


def _listed_sit(
    study: Study, pairings: Sequence[Pairing | Sample], made: Sequence[Rows], games: list[str]
) -> None:
    """Refuse a listed seating that no game can seat: it would be left out without a word."""
    listed = {
        seating_text(one): one
        for pairing in pairings if isinstance(pairing, list) for one in pairing
    }  # fmt: skip
    if not listed:
        return
    seated = {tuple(player.label for player in row) for rows in made for row in rows}
    for text, one in listed.items():
        if seated.isdisjoint(_orders(one, study.swap)):
            raise StudyError(f"pairing: {text} cannot sit like this at {', '.join(games)}")


def _still_is(player: Seated) -> None:
    """Refuse a player whose settings have come to stand for another since it was seated."""
    try:
        player.spec.check()
    except (CheaptalkError, ValueError) as error:
        raise StudyError(f"players.{player.label}: {error}") from None


def _no_doubles(game: str, players: Iterable[Seated]) -> None:
    """Refuse two labels for one player: their matches would be the same matches."""
    labels: dict[str, str] = {}
    for player in players:
        first = labels.setdefault(player.digest, player.label)
        if first != player.label:
            raise StudyError(
                f'players: "{first}" and "{player.label}" are the same player in {game}; '
                "give one of them another setting, or leave one out"
            )
