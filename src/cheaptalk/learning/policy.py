"""Learned policies at the table: what was trained on an array game plays with NumPy alone.

A policy is a file: the network's weights as safetensors, and in its header what it was trained for.
On a roster ``{policy: FILE}`` sits down at the game with just these parameters, and no other.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field, model_validator

from cheaptalk.arrays.games import ArrayGame, array_game
from cheaptalk.games.extras import needed
from cheaptalk.learning.rounding import AS_IT_IS, Rounding
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.rules import Action, Asked, CheaptalkError, Decide, Game, game_box, suggest
from cheaptalk.whole_files import whole_path

np = needed("numpy")

Weights: TypeAlias = Mapping[str, Any]
"""Arrays by name: ``first``, ``second`` and ``head``, each with ``.kernel`` and ``.bias``."""
FORMAT = 1
SHIPPED = Path(__file__).parent / "policies"
"""Policies that come with the package, by their names."""
SUFFIX = ".safetensors"
LAYERS = ("first", "second", "head")
TYPES = {"F32": "<f4", "F16": "<f2"}
"""Types of numbers in a file, as NumPy calls them."""
LARGEST = 200_000_000
"""Bytes of a file up to which it is read."""


class PolicyError(CheaptalkError):
    """A file is no policy, or not one of this game."""


class Policy:
    """A learned policy.

    Args:
        game: the array game that it plays.
        weights: of its network.
        about: what is known of its making, such as the algorithm, matches, seed and hardware.
        rounding: how its probabilities are rounded before it plays.
    """

    def __init__(
        self, game: ArrayGame[Any, Any], weights: Weights, about: Mapping[str, Any],
        rounding: Rounding = AS_IT_IS,
    ) -> None:  # fmt: skip
        self.game = game
        self.weights = weights
        self.about = about
        self.rounding = rounding

    def probabilities(self, seen: Any, legal: Any) -> Any:
        """What it does; shape (..., actions).

        Args:
            seen: observations, shape (..., numbers).
            legal: which actions are legal, shape (..., actions).
        """
        first, second, head = (self._layer(name) for name in LAYERS)
        inner = np.maximum(first(seen), 0)
        logits = head(inner + np.maximum(second(inner), 0))
        logits = np.where(legal, logits, -np.inf)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return self.rounding(shares / shares.sum(axis=-1, keepdims=True))

    def _layer(self, name: str) -> Any:
        kernel, bias = self.weights[f"{name}.kernel"], self.weights[f"{name}.bias"]
        return lambda numbers: numbers @ kernel + bias

    def decide(self, asked: Asked) -> Action:
        """An answer drawn by the policy, by the luck of the seat that is asked."""
        game = self.game
        legal = np.array([
            asked.ask.refuse(game.action(asked, number)) is None for number in range(game.actions)
        ])  # fmt: skip
        shares = self.probabilities(game.seen(asked), legal)
        place = asked.chance("policy").uniform() * shares.sum()
        number = int(np.searchsorted(np.cumsum(shares), place, side="right"))
        return game.action(asked, min(number, int(np.flatnonzero(legal)[-1])))

    def why_not(self, game: Game) -> str | None:
        """Why it cannot play a game, by the parameter that differs; None where it can."""
        own = self.game.rules.model_dump(mode="json")
        other = game.model_dump(mode="json")
        differs = [name for name in own if name != "names" and own[name] != other.get(name)]
        if not differs:
            return None
        name = differs[0]
        return f"the policy was trained for {name} {own[name]}, not {other.get(name)}"


def write_policy(policy: Policy, file: Path) -> None:
    """Write a policy as one file, whole or not at all."""
    rules = policy.game.rules
    told = {
        "format": FORMAT, "game": rules.name, "version": rules.version,
        "parameters": rules.model_dump(mode="json"), "about": dict(policy.about),
        "rounding": policy.rounding._asdict(),
    }  # fmt: skip
    head: dict[str, Any] = {"__metadata__": {"cheaptalk": json.dumps(told)}}
    parts, at = [], 0
    for name, array in policy.weights.items():
        data = np.ascontiguousarray(array, dtype="<f4").tobytes()
        head[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [at, at + len(data)],
        }
        parts.append(data)
        at += len(data)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with whole_path(file) as half:
        half.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *parts]))


def read_policy(file: Path | str) -> Policy:
    """A policy from its file.

    Raises:
        PolicyError: it cannot be read, is none, or is of another version of its game.
    """
    file = Path(file)
    try:
        if file.stat().st_size > LARGEST:
            raise PolicyError(f"{file} is too large for a policy")
        data = file.read_bytes()
    except OSError as error:
        raise PolicyError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        length = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + length])
        told = json.loads(head.pop("__metadata__")["cheaptalk"])
        weights = {name: _array(data[8 + length :], one) for name, one in head.items()}
        if told["format"] > FORMAT:
            raise PolicyError(f"{file} is of a newer cheaptalk; upgrade to play it")
        rules = game_box(told["game"]).rules.model_validate(told["parameters"])
        rounding = Rounding(**told.get("rounding", {}))
    except (KeyError, ValueError, TypeError, UnicodeDecodeError):
        raise PolicyError(f"{file} is no policy, or was cut short") from None
    if told["version"] != rules.version:
        raise PolicyError(
            f"{file} was trained for version {told['version']} of {rules.name}, and version "
            f"{rules.version} is installed; train it anew"
        )
    game = array_game(rules)
    wanted = (game.observed, game.actions)
    shapes = weights["first.kernel"].shape[0], weights["head.kernel"].shape[-1]
    if shapes != wanted:
        raise PolicyError(f"{file} does not fit its game: it was trained for other observations")
    return Policy(game, weights, told["about"], rounding)


def _array(data: bytes, told: Mapping[str, Any]) -> Any:
    begin, end = told["data_offsets"]
    if end > len(data):
        raise ValueError("cut short")
    return np.frombuffer(data[begin:end], TYPES[told["dtype"]]).reshape(told["shape"])


@lru_cache(32)
def _known(named: str, _digest: str) -> Policy:
    """The policy of a name or file with this digest, which is read once."""
    return read_policy(policy_file(named))


def policy_file(named: str) -> Path:
    """The file of a policy: one's own, or that of one which comes with the package.

    Raises:
        PolicyError: there is none.
    """
    if named in policy_names():
        return SHIPPED / f"{named}{SUFFIX}"
    if not Path(named).is_file():
        known = suggest(named, policy_names())
        raise PolicyError(f"there is no policy {known}: name a file, or one that comes with us")
    return Path(named)


def policy_names() -> list[str]:
    """The names of the policies that come with the package, in order."""
    return sorted(one.stem for one in SHIPPED.glob(f"*{SUFFIX}"))


def _digest(named: str) -> str:
    """Twenty hexadecimal digits that stand for a policy.

    Raises:
        PolicyError: it cannot be read.
    """
    try:
        return sha256(policy_file(named).read_bytes()).hexdigest()[:20]
    except OSError as error:
        raise PolicyError(f"{named}: cannot be read: {error.strerror}") from None


class Learned:
    """A policy at a table with slower players; it makes no calls."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def answer(self, asked: Asked) -> Thinking:
        """Answer at once."""
        return Answer(self.policy.decide(asked), Kind.OK)
        yield  # a generator that yields nothing


class PolicySeat(SeatSpec):
    """A seat filled by a learned policy.

    Attributes:
        policy: its file, or the name of one that comes with the package.
        digest: of the file: one with other weights is another player.
    """

    instant: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    policy: str
    digest: str = Field(pattern="^[0-9a-f]{20}$")

    @model_validator(mode="before")
    @classmethod
    def _noted(cls, data: Any) -> Any:
        """A policy that is written without a digest is the one that the file now holds."""
        if (
            isinstance(data, Mapping)
            and "digest" not in data
            and isinstance(data.get("policy"), str)
        ):
            return {**data, "digest": _digest(data["policy"])}
        return data

    def check(self) -> None:
        """Refuse a file that is no policy, or another one than was seated.

        Raises:
            PolicyError: with the reason.
        """
        if _digest(self.policy) != self.digest:
            raise PolicyError(
                f"{self.policy} is another policy than when it was seated; give two policies two "
                "files"
            )
        self._read()

    def _read(self) -> Policy:
        return _known(self.policy, self.digest)

    def trained_for(self, game: Game) -> bool:
        """Whether it plays this game, with whichever parameters."""
        return bool(self._read().game.rules.name == game.name)

    def why_not(self, game: Game) -> str | None:
        """Why it cannot sit down at a game that it plays; None where it can."""
        return self._read().why_not(game)

    def seat(self, game: Game, place: str) -> "PolicySeat | None":
        if not self.trained_for(game):
            return None
        reason = self.why_not(game)
        if reason is not None:
            raise ValueError(f"policy: {reason}")
        return self

    def written(self) -> dict[str, Any]:
        return {"policy": self.policy, "digest": self.digest}

    def decide(self) -> Decide:
        return self._read().decide

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Learned:
        """The policy, at a table with slower players."""
        return Learned(self._read())


class PoliciesForm(RosterForm):
    """Policies under one name, each at the game and parameters that it was trained for.

    Attributes:
        policies: their files, or names of those that come with the package.
    """

    exact: ClassVar[bool] = True

    policies: Annotated[list[str], Field(min_length=1)]

    def written(self) -> dict[str, Any]:
        return {"policies": self.policies}

    def seat(self, game: Game, place: str) -> PolicySeat | None:
        reasons = []
        for named in self.policies:
            seat = PolicySeat.model_validate({"policy": named})
            if seat.trained_for(game):
                reason = seat.why_not(game)
                if reason is None:
                    return seat
                reasons.append(f"{named}: {reason}")
        if reasons:
            raise ValueError(f"policies: {'; '.join(reasons)}")
        return None
