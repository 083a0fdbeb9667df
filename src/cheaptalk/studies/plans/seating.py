"""Assignment of a study's players to the seats of its games."""

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
from cheaptalk.rules.errors import Location, problems_in
from cheaptalk.studies.factors import crossing_advice
from cheaptalk.studies.study import (
    MOST_SEATINGS,
    Listed,
    Pairing,
    Sample,
    Study,
    StudyError,
    Without,
    seating_text,
)


@dataclass(frozen=True, eq=False)
class SeatedPlayer:
    """A player's label and settings in a seat of a game."""

    label: str
    spec: SeatSpec

    @cached_property
    def digest(self) -> str:
        return player_digest(self.spec)

    @cached_property
    def scripted(self) -> bool:
        return self.spec.instant

    @cached_property
    def may_fail(self) -> bool:
        """Whether the player's answers can be missing or invalid, as with models and people."""
        return self.spec.may_fail


Seats: TypeAlias = dict[str, SeatedPlayer]
"""A player with settings for each seat of a game that the player can fill."""
Rows: TypeAlias = list[tuple[SeatedPlayer, ...]]
"""Seatings, each in the order of a game's seats."""
TableKind: TypeAlias = tuple[str, tuple[str, ...], str]
"""A game, its seats, and its parameters if a player depends on them; this determines who can play.
"""


class Seatings(NamedTuple):
    """The seatings of each configuration, and the players that cannot play or are in no pairing.

    Idle players are pairs of label and game.
    """

    rows: list[Rows]
    idle: list[tuple[str, str]]
    unseated: list[str]


def seat_everyone(study: Study, tables: Sequence[tuple[Game, Pairing | Sample]]) -> Seatings:
    """Assign the players of a study to the seats of its games."""
    exact = any(entry.form.exact for entry in study.players.values())

    def kind_of(game: Game) -> TableKind:
        return game.name, tuple(game.seats), game.model_dump_json() if exact else ""

    kinds = {kind_of(game): game for game, _ in tables}
    _check_parts(study, list(kinds.values()))
    named: dict[TableKind, set[str]] = {}
    for game, pairing in tables:
        named.setdefault(kind_of(game), set()).update(_labels(pairing, study))
    able = {
        kind: {
            label: {}
            if entry.form.exact and label not in named[kind]
            else _seats(study, label, game)
            for label, entry in study.players.items()
        }
        for kind, game in kinds.items()
    }
    names = list(dict.fromkeys(name for name, *_ in kinds))
    idle = [
        (label, name)
        for name in names
        for label in study.players
        if not any(seats[label] for (game_name, *_), seats in able.items() if game_name == name)
    ]
    for label, entry in study.players.items():
        if all((label, name) in idle for name in names):  # most likely a misspelt strategy
            raise StudyError.at(("players", label), entry.form.why_idle(names))
    seatings: dict[tuple[TableKind, str], Rows] = {}
    for game, pairing in tables:
        key = kind_of(game), str(pairing)
        if key not in seatings:
            seatings[key] = _seatings(pairing, study.swap, game, able[key[0]])
    _check_listed(study, [pairing for _, pairing in tables], list(seatings.values()), names)
    seated: set[str] = set()
    for (kind, _), rows in seatings.items():
        if not rows:
            raise StudyError.at(
                ("players",), f"they cannot fill all seats of {kind[0]}; add a player"
            )
        players = dict.fromkeys(chain.from_iterable(rows))
        _check_distinct(kind[0], players)
        for player in players:
            _check_unchanged(player)
        seated.update(player.label for player in players)
    return Seatings(
        [seatings[kind_of(game), str(pairing)] for game, pairing in tables],
        idle,
        [label for label in study.players if label not in seated],
    )


def _check_parts(study: Study, games: Sequence[Game]) -> None:
    """Check that strategies are assigned to existing roles and seats."""
    for name in {game.name for game in games}:
        variants = [game for game in games if game.name == name]
        parts = list(dict.fromkeys(chain(variants[0].roles, *(game.seats for game in variants))))
        kind = "role" if parts == list(variants[0].roles) else "role or seat"
        for label, entry in study.players.items():
            for part in entry.parts(name):
                if part not in parts:
                    problem = f"unknown {kind} {suggest(str(part), parts)} of {name}"
                    raise StudyError.at(("players", label), problem)


def _seats(study: Study, label: str, game: Game) -> Seats:
    """Return the seats that a player can fill, each with the player's settings there."""
    seats: Seats = {}
    distinct: dict[str, SeatedPlayer] = {}
    for seat in game.seats:
        try:
            spec = study.players[label].seat(game, seat)
        except ValidationError as error:
            problem = problems_in(error)[0]
            problem = problem._replace(location=("players", label, *problem.location))
            advice = crossing_advice({label: study.players[label].written()}, problem)
            raise StudyError.at(problem.location, problem.message + advice) from None
        except (CheaptalkError, ValueError) as error:
            raise StudyError.at(_setting_path(study, label, game), str(error)) from None
        if spec is not None:
            seated = SeatedPlayer(label, spec)
            seats[seat] = distinct.setdefault(seated.digest, seated)
    return seats


def _setting_path(study: Study, label: str, game: Game) -> Location:
    """Return where the study sets an incompatible value: in ``models`` or in the player's entry."""
    spec = study.players[label].form
    if not isinstance(spec, ModelSeat):
        return "players", label
    for key, value in study.models.items():
        shared = ModelSeat.model_validate({"model": spec.model, key: value})
        if getattr(shared, key) == getattr(spec, key):
            try:
                spec.model_copy(update={key: ModelSeat.model_fields[key].default}).seat(
                    game, next(iter(game.seats))
                )
            except (UnknownName, ValueError):
                continue
            return ("models",)
    return "players", label


def _labels(pairing: Pairing | Sample, study: Study) -> Iterable[str]:
    """Return the labels that a pairing includes."""
    if isinstance(pairing, Without):
        for label in pairing.without:
            if label not in study.players:
                problem = f"unknown player {suggest(label, list(study.players))}"
                raise StudyError.at(("pairing",), problem)
        return [label for label in study.players if label not in pairing.without]
    return chain.from_iterable(pairing) if isinstance(pairing, list) else study.players


def _seatings(pairing: Pairing | Sample, swap: bool, game: Game, able: Mapping[str, Seats]) -> Rows:
    if isinstance(pairing, list):
        return _listed(pairing, swap, game, able)
    if isinstance(pairing, Without):
        able = {label: seats for label, seats in able.items() if label not in pairing.without}
    if pairing == "self":
        complete = [seats for seats in able.values() if set(seats) == set(game.seats)]
        return [tuple(seats[seat] for seat in game.seats) for seats in complete]
    candidates = [[seats[seat] for seats in able.values() if seat in seats] for seat in game.seats]
    number = prod(map(len, candidates))
    if number > MOST_SEATINGS:
        raise StudyError.at(
            ("pairing",),
            f"the players can fill the seats of {game.name} in {number:,} ways, more than "
            f"{MOST_SEATINGS:,}; list the players by seat, write self, or remove players",
        )
    return list(product(*candidates))


def _listed(pairing: list[Listed], swap: bool, game: Game, able: Mapping[str, Seats]) -> Rows:
    rows: dict[tuple[str, ...], tuple[SeatedPlayer, ...]] = {}
    for listed in pairing:
        for label in listed:
            if label not in able:
                raise StudyError.at(("pairing",), f"unknown player {suggest(label, list(able))}")
        _check_size(listed, game)
        for order in _orders(listed, swap):
            pairs = list(zip(order, game.seats, strict=True))
            if all(seat in able[label] for label, seat in pairs):
                rows[order] = tuple(able[label][seat] for label, seat in pairs)
    return list(rows.values())


def _check_size(listed: Listed, game: Game) -> None:
    """Check that a seating in the study file has as many players as the game has seats."""
    count = len(listed) if isinstance(listed, list) else sum(listed.values())
    seats = list(game.seats)
    if count != len(seats):
        names = ", ".join(seats) if len(seats) <= 3 else f"{seats[0]} to {seats[-1]}"
        cure = "" if seats == list(game.roles) else "; write a separate pairing for each game"
        raise StudyError.at(
            ("pairing",),
            f"{seating_text(listed)} fills {counted(count, 'seat')}, but {game.name} has "
            f"{len(seats)} ({names}){cure}",
        )


def _orders(listed: Listed, swap: bool) -> list[tuple[str, ...]]:
    """Return a seating as written or, with ``swap``, all of its rotations."""
    pairs = [(label, 1) for label in listed] if isinstance(listed, list) else listed.items()
    labels = tuple(label for label, count in pairs for _ in range(count))
    turns = range(len(labels) if swap else 1)
    return list(dict.fromkeys(labels[-turn:] + labels[:-turn] for turn in turns))


def _check_listed(
    study: Study, pairings: Sequence[Pairing | Sample], seatings: Sequence[Rows], games: list[str]
) -> None:
    """Check that every seating in the study file fits at least one game."""
    listed = {
        seating_text(seating): seating
        for pairing in pairings
        if isinstance(pairing, list)
        for seating in pairing
    }
    if not listed:
        return
    seated = {tuple(player.label for player in row) for rows in seatings for row in rows}
    for text, seating in listed.items():
        if seated.isdisjoint(_orders(seating, study.swap)):
            problem = f"{text} cannot fill the seats of {' or '.join(games)}"
            raise StudyError.at(("pairing",), problem)


def _check_unchanged(player: SeatedPlayer) -> None:
    """Check that a player's settings are valid and its strategy's code is unchanged."""
    try:
        player.spec.check()
    except (CheaptalkError, ValueError) as error:
        raise StudyError.at(("players", player.label), str(error)) from None


def _check_distinct(game: str, players: Iterable[SeatedPlayer]) -> None:
    """Check that no two labels refer to the same player, whose matches would be duplicates."""
    labels: dict[str, str] = {}
    for player in players:
        first = labels.setdefault(player.digest, player.label)
        if first != player.label:
            raise StudyError.at(
                ("players",),
                f'"{first}" and "{player.label}" are the same player in {game}; change a setting '
                "of one, or remove it",
            )
