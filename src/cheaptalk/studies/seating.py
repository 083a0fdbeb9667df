"""Who meets whom: the seatings that a study's roster and pairing make at each game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from pydantic import ValidationError

from cheaptalk.players import SeatSpec, StrategySeat
from cheaptalk.records import player_digest
from cheaptalk.rules import Game, UnknownName, strategies, suggest
from cheaptalk.studies.spec import Pairing, Sample, Study, StudyError, first_problem


@dataclass(frozen=True, eq=False)
class Seated:
    """A player as it sits down: what the study calls it, and its settings."""

    label: str
    spec: SeatSpec

    @cached_property
    def digest(self) -> str:
        return player_digest(self.spec)

    @property
    def scripted(self) -> bool:
        return isinstance(self.spec, StrategySeat)


Seats = dict[str, Seated]
"""One player in every role that it can take at a game."""
Seatings = dict[tuple[str, str], list[tuple[Seated, ...]]]
"""Seatings, in the order of the game's roles, by game and pairing."""


def seat_everyone(
    study: Study, tables: Sequence[tuple[Game, Pairing | Sample]]
) -> tuple[Seatings, list[tuple[str, str]]]:
    """Seat a study's roster at its games.

    Returns:
        The seatings, and the players who can sit at no table of some game, as (label, game).

    Raises:
        StudyError: a player or a listed seating can sit nowhere, nobody can play a game, or two
            labels stand for one player.
    """
    needed = {(game.name, str(pairing)): (game, pairing) for game, pairing in tables}
    games = {game.name: game for game, _ in needed.values()}
    able = {
        name: {label: _seats(study, label, game) for label in study.players}
        for name, game in games.items()
    }
    idle = [(label, game) for game, seats in able.items() for label in seats if not seats[label]]
    _everyone_plays(study, list(able), idle)
    seatings = {
        key: _seatings(pairing, study.swap, game, able[game.name])
        for key, (game, pairing) in needed.items()
    }
    seated = {tuple(player.label for player in row) for rows in seatings.values() for row in rows}
    for _, pairing in needed.values():
        _listed_sit(pairing, study.swap, seated, list(able))
    for (name, _), rows in seatings.items():
        if not rows:
            raise StudyError(f"players: no seating of the roster can play {name}")
        _no_doubles(name, rows)
    return seatings, idle


def _seats(study: Study, label: str, game: Game) -> Seats:
    seats = {}
    for role in game.places:
        try:
            spec = study.players[label].seat(game.name, role)
        except ValidationError as error:
            raise StudyError(f"players.{label}: {first_problem(error)}") from None
        except (UnknownName, ValueError) as error:
            raise StudyError(f"players.{label}: {error}") from None
        if spec is not None:
            seats[role] = Seated(label, spec)
    return seats


def _seatings(
    pairing: Pairing | Sample, swap: bool, game: Game, able: Mapping[str, Seats]
) -> list[tuple[Seated, ...]]:
    if isinstance(pairing, list):
        return _listed(pairing, swap, game, able)
    if pairing == "self":
        whole = [seats for seats in able.values() if set(seats) == set(game.places)]
        return [tuple(seats[role] for role in game.places) for seats in whole]
    candidates = [[seats[role] for seats in able.values() if role in seats] for role in game.places]
    return list(product(*candidates))


def _listed(
    pairing: list[list[str]], swap: bool, game: Game, able: Mapping[str, Seats]
) -> list[tuple[Seated, ...]]:
    rows: dict[tuple[str, ...], tuple[Seated, ...]] = {}
    for labels in pairing:
        for label in labels:
            if label not in able:
                raise StudyError(f"pairing: unknown player {suggest(label, list(able))}")
        if len(labels) != len(game.places):
            raise StudyError(
                f"pairing: [{', '.join(labels)}] has {len(labels)} players; {game.name} has "
                f"{len(game.places)} roles ({', '.join(game.roles)})"
            )
        for order in _orders(labels, swap):
            pairs = list(zip(order, game.places, strict=True))
            if all(role in able[label] for label, role in pairs):
                rows[order] = tuple(able[label][role] for label, role in pairs)
    return list(rows.values())


def _orders(labels: list[str], swap: bool) -> tuple[tuple[str, ...], ...]:
    return (tuple(labels), tuple(labels[::-1])) if swap else (tuple(labels),)


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


def _listed_sit(
    pairing: Pairing | Sample, swap: bool, seated: set[tuple[str, ...]], games: list[str]
) -> None:
    """Refuse a listed seating that no game can seat: it would be left out without a word."""
    for labels in pairing if isinstance(pairing, list) else ():
        if seated.isdisjoint(_orders(labels, swap)):
            where = ", ".join(games)
            raise StudyError(f"pairing: [{', '.join(labels)}] cannot sit like this at {where}")


def _no_doubles(game: str, rows: list[tuple[Seated, ...]]) -> None:
    """Refuse two labels for one player: their matches would be the same matches."""
    labels: dict[str, str] = {}
    for player in (player for row in rows for player in row):
        first = labels.setdefault(player.digest, player.label)
        if first != player.label:
            raise StudyError(
                f'players: "{first}" and "{player.label}" are the same player in {game}; '
                "give one of them another setting, or leave one out"
            )
