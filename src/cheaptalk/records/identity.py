"""What makes games, players and matches the same: digests of all that defines them."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from cheaptalk.rules import Game


def digest_key(data: Mapping[str, Any]) -> str:
    """Data in the one form that is hashed and compared."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def digest(*parts: object) -> str:
    """Twenty hexadecimal digits that stand for these parts."""
    text = "\x1f".join(map(str, parts))
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


def configuration_digest(game: Game) -> str:
    """Stands for a game with its parameters, under this version of its rules."""
    return digest(game.name, game.version, digest_key(game.model_dump(mode="json")))


def player_digest(spec: BaseModel) -> str:
    """Stands for a player: all settings that make it, and not what a study calls it."""
    return digest("player", digest_key(spec.model_dump(mode="json")))
