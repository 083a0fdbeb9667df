"""Digests that identify games, players, instances and matches by their definitions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel, ValidationError

from cheaptalk.rules import Game, UnknownName, get_game
from cheaptalk.rules.registry import GameLike, game_from

SEPARATOR = "\x1f"


def digest_key(data: Mapping[str, Any]) -> str:
    """Return data as canonical JSON, for hashing and comparison."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def digest(*parts: object) -> str:
    """Return a digest of several parts, as 20 hexadecimal digits."""
    return _digits(SEPARATOR.join(map(str, parts)))


def _digits(text: str) -> str:
    return blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass(frozen=True)
class Configuration:
    """A stored game with its parameters (JSON values by name) and rules version."""

    game: str
    version: int
    parameters: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        return digest(self.game, self.version, digest_key(self.parameters))

    @cached_property
    def rules(self) -> Game:
        """The game, created from the stored parameters with the installed rules.

        Raises UnknownName if the game is not installed, pydantic.ValidationError if parameters
        don't fit.
        """
        return game_of(self.game, digest_key(self.parameters))

    @property
    def roles(self) -> Mapping[str, str]:
        """Roles by seat; empty if the installed rules can't replay the matches."""
        try:
            return self.rules.seats
        except (UnknownName, ValidationError):
            return {}


@cache
def game_of(name: str, parameters: str) -> Game:
    """Return the game with the given parameters (JSON text), cached by name and parameters."""
    return get_game(name).rules.model_validate_json(parameters)


def configuration_digest(game: GameLike) -> str:
    """Return the digest of a game with its parameters and rules version."""
    game = game_from(game)
    return Configuration(game.name, game.version, game.model_dump(mode="json")).digest


def player_digest(spec: BaseModel) -> str:
    """Return the digest of a player's settings, without its label."""
    return written_player_digest(spec.model_dump(mode="json"))


def written_player_digest(spec: Mapping[str, Any]) -> str:
    """Return the digest of a player's stored settings, without its label."""
    return digest("player", digest_key(_as_digested(spec)))


def _as_digested(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Restore the former prefix of remote agents in settings, to keep match ids stable."""
    model = spec.get("model")
    if isinstance(model, str) and model.startswith("remote/"):
        return {**spec, "model": f"guest/{model.removeprefix('remote/')}"}
    return spec


def study_digest(name: str, spec: Mapping[str, Any]) -> str:
    """Return the digest of a stored study."""
    return digest("study", name, digest_key(spec))


def roster_digest(study_id: int, player_id: int, label: str) -> str:
    """Return the digest of a player's label in a study."""
    return digest("roster", study_id, player_id, label)


def written_judge_digest(spec: Mapping[str, Any]) -> str:
    """Return the digest of a judge: its rubric, and its model with all settings."""
    return digest("judge", digest_key(spec))


def written_instance_digest(instance: Mapping[str, Any]) -> str:
    """Return the digest of an instance that was reused from another match."""
    return digest("deal", json.dumps(instance, sort_keys=True))


def match_digest(
    configuration: str, instance_seed: str, instance: str, repeat: int, players: Iterable[str]
) -> str:
    """Return the id of a planned match; configuration and players, by seat, are given as digests.

    ``instance`` is a reused instance as JSON; empty if the instance was drawn.
    """
    own_parts = f"{configuration}{SEPARATOR}{instance_seed}{SEPARATOR}{instance}{SEPARATOR}{repeat}"
    return _digits(SEPARATOR.join((own_parts, *players)))  # equals digest(), in half the time


def imported_match_digest(
    system: str,
    game_id: str,
    configuration: str,
    instance: str,
    answers: Sequence[Mapping[str, Any]],
    players: Iterable[str],
) -> str:
    """Return the id of an imported match, derived from its original id and its contents."""
    digested = [
        {"seat" if key == "actor" else key: value for key, value in answer.items()}
        for answer in answers
    ]
    moves = json.dumps(digested, sort_keys=True)  # with the former key, so that ids don't change
    return digest(system, game_id, configuration, instance, moves, *players)
