"""What makes games, players, deals and matches the same: digests of all that defines them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import blake2b
from typing import Any

from pydantic import BaseModel

from cheaptalk.rules import Game, game_box

SEPARATOR = "\x1f"


def digest_key(data: Mapping[str, Any]) -> str:
    """Data in the one form that is hashed and compared."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def digest(*parts: object) -> str:
    """Twenty hexadecimal digits that stand for these parts."""
    return _digits(SEPARATOR.join(map(str, parts)))


def _digits(text: str) -> str:
    return blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass(frozen=True)
class Configuration:
    """A game with its parameters, as a store keeps it; all matches that are read share it.

    Attributes:
        game: its name.
        version: of its rules.
        parameters: by name, as JSON has them.
    """

    game: str
    version: int
    parameters: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """Stands for it; see :func:`configuration_digest`."""
        return digest(self.game, self.version, digest_key(self.parameters))

    @cached_property
    def rules(self) -> Game:
        """The game by the rules that are installed.

        Raises:
            UnknownName: the game is not installed.
            pydantic.ValidationError: the parameters do not fit these rules.
        """
        return game_of(self.game, digest_key(self.parameters))


@cache
def game_of(name: str, parameters: str) -> Game:
    """A game with its parameters as JSON; one object for equal ones."""
    return game_box(name).rules.model_validate_json(parameters)


def configuration_digest(game: Game) -> str:
    """Stands for a game with its parameters, under this version of its rules."""
    return Configuration(game.name, game.version, game.model_dump(mode="json")).digest


def player_digest(spec: BaseModel) -> str:
    """Stands for a player: all settings that make it, and not what a study calls it."""
    return written_player_digest(spec.model_dump(mode="json"))


def written_player_digest(spec: Mapping[str, Any]) -> str:
    """:func:`player_digest` of settings as a store keeps them."""
    return digest("player", digest_key(spec))


def study_digest(name: str, spec: Mapping[str, Any]) -> str:
    """Stands for a study as a store keeps it."""
    return digest("study", name, digest_key(spec))


def roster_digest(study_id: int, player_id: int, label: str) -> str:
    """Stands for what a study calls one of its players."""
    return digest("roster", study_id, player_id, label)


def written_judge_digest(spec: Mapping[str, Any]) -> str:
    """Stands for a judge: its rubric, and its model with all settings."""
    return digest("judge", digest_key(spec))


def written_deal_digest(deal: Mapping[str, Any]) -> str:
    """Stands for a deal that was taken over from another match."""
    return digest("deal", json.dumps(deal, sort_keys=True))


def match_digest(
    configuration: str, deal_seed: str, deal: str, repeat: int, players: Iterable[str]
) -> str:
    """Stands for a match that was planned.

    Args:
        configuration: the digest of its game with its parameters.
        deal_seed: the seed that its deal is drawn with.
        deal: the deal as JSON where it was taken over; empty where it was drawn.
        repeat: counts repetitions on the deal.
        players: the digests of those in its places, in order.
    """
    own = f"{configuration}{SEPARATOR}{deal_seed}{SEPARATOR}{deal}{SEPARATOR}{repeat}"
    return _digits(SEPARATOR.join((own, *players)))  # as digest of all these, in half the time


def imported_match_digest(
    system: str,
    game_id: str,
    configuration: str,
    deal: str,
    answers: Sequence[Mapping[str, Any]],
    players: Iterable[str],
) -> str:
    """Stands for a match that was imported.

    Args:
        system, game_id: where it comes from, and what that calls it.
        configuration, deal, players: as in :func:`match_digest`.
        answers: as the record keeps them.
    """
    moves = json.dumps(answers, sort_keys=True)
    return digest(system, game_id, configuration, deal, moves, *players)
