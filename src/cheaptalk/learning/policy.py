"""Learned policies at the table: what was trained on an array game plays with NumPy alone.

A policy is a file: the network's weights as safetensors, and in its header what it was trained for.
On a roster ``{policy: FILE}`` sits down at the game with just these parameters, and no other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import Meta, Struct
from pydantic import Field, model_validator

from cheaptalk.arrays.games import ArrayGame, array_game
from cheaptalk.games.extras import needed
from cheaptalk.learning.rounding import AS_IT_IS, Rounding
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.rules import Action, Asked, CheaptalkError, Decide, Game, game_box, suggest
from cheaptalk.rules.errors import first_line
from cheaptalk.rules.registry import Registry, instances
from cheaptalk.whole_files import whole_path

np = needed("numpy")

Weights: TypeAlias = Mapping[str, Any]
"""Arrays by name, such as ``first.kernel``."""
FORMAT = 1
SHIPPED = Path(__file__).parent / "policies"
"""Policies that come with the package, by their names."""
SUFFIX = ".safetensors"
RESIDUAL = "residual"
"""The network of the algorithms that come with the package; see :func:`residual`."""
TYPES = {"F32": "<f4", "F16": "<f2"}
"""Types of numbers in a file, as NumPy calls them."""
LARGEST = 200_000_000
"""Bytes of a file up to which it is read."""


class PolicyError(CheaptalkError):
    """A file is no policy, or not one of this game."""


@dataclass(frozen=True)
class PolicyNetwork:
    """How a policy's file is evaluated: the forward pass of its network, in NumPy.

    A package registers its own by the entry point ``cheaptalk.networks``, a program by
    ``ct.register(network, name=NAME)``; a :class:`.Training` names the one that it trains.

    Attributes:
        logits: from weights and observations, shape (..., numbers), to a number for each action,
            shape (..., actions). It raises ``KeyError`` or ``ValueError`` for weights that it can't
            use.
    """

    logits: Callable[[Weights, Any], Any]


def residual(weights: Weights, seen: Any) -> Any:
    """Return the logits of a dense layer, a residual dense layer and a head, with ReLU between."""
    inner = np.maximum(seen @ weights["first.kernel"] + weights["first.bias"], 0)
    second = np.maximum(inner @ weights["second.kernel"] + weights["second.bias"], 0)
    return (inner + second) @ weights["head.kernel"] + weights["head.bias"]


NETWORKS: Registry[PolicyNetwork] = Registry(
    "policy network", "cheaptalk.networks", instances(PolicyNetwork)
)
"""The networks that policy files can have, by name."""
RESIDUAL_NETWORK = PolicyNetwork(residual)


class Policy:
    """A learned policy.

    Args:
        game: the array game that it plays.
        weights: of its network.
        about: what is known of its making, such as the algorithm, matches, seed and hardware.
        rounding: how its probabilities are rounded before it plays.
        network: the name of its network among :data:`NETWORKS`.

    Raises:
        PolicyError: the network is not installed, or the weights do not fit it or the game, or
            are not finite.
    """

    def __init__(
        self, game: ArrayGame[Any, Any], weights: Weights, about: Mapping[str, Any],
        rounding: Rounding = AS_IT_IS, network: str = RESIDUAL,
    ) -> None:  # fmt: skip
        self.game = game
        self.weights = weights
        self.about = about
        self.rounding = rounding
        self.network = network
        if network not in NETWORKS:
            raise PolicyError(
                f"no installed package registers its network {suggest(network, sorted(NETWORKS))}; "
                "install the package that trained it"
            )
        self._logits = NETWORKS[network].logits
        self._check_weights()

    def _check_weights(self) -> None:
        broken = [name for name, array in self.weights.items() if not np.isfinite(array).all()]
        if broken:
            raise PolicyError(f"its weights {', '.join(broken)} are not all finite; train it anew")
        try:
            with np.errstate(all="ignore"):
                seen = np.zeros(self.game.observed, np.float32)
                shape = self._logits(self.weights, seen).shape
        except (KeyError, ValueError) as error:
            problem = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
            raise PolicyError(
                f"its weights do not fit the network {self.network} with {self.game.observed} "
                f"observed numbers: {problem}"
            ) from None
        if shape != (self.game.actions,):
            raise PolicyError(
                f"its network gives numbers of shape {shape}, and the game has "
                f"{self.game.actions} actions"
            )

    def probabilities(self, seen: Any, legal: Any) -> Any:
        """What it does; shape (..., actions).

        Args:
            seen: observations, shape (..., numbers).
            legal: which actions are legal, shape (..., actions).
        """
        logits = np.where(legal, self._logits(self.weights, seen), -np.inf)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return self.rounding(shares / shares.sum(axis=-1, keepdims=True))

    def decide(self, asked: Asked) -> Action:
        """An answer drawn by the policy, by the luck of the seat that is asked.

        Raises:
            PolicyError: its probabilities are not numbers, as where its weights overflow.
        """
        game = self.game
        legal = game.legal_at(asked)
        with np.errstate(all="ignore"):
            shares = self.probabilities(game.seen(asked), legal)
        if not np.isfinite(shares).all():
            raise PolicyError("the policy's probabilities are not finite numbers; train it anew")
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


class RoundingHeader(Struct):
    """A :class:`.Rounding` in a file."""

    threshold: Annotated[float, Meta(ge=0, lt=1)] = 0.0
    bins: Annotated[int, Meta(ge=0)] = 0


class Header(Struct):
    """What the header of a policy's file says of it."""

    format: int
    game: str
    version: Any
    parameters: dict[str, Any]
    about: dict[str, Any] = {}
    rounding: RoundingHeader = msgspec.field(default_factory=RoundingHeader)
    network: str = RESIDUAL


class TensorHeader(Struct):
    """Where an array of weights lies in a file of safetensors."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]

    def read(self, data: bytes) -> Any:
        """The array; ``KeyError`` or ``ValueError`` if the data does not hold it."""
        begin, end = self.data_offsets
        if not 0 <= begin <= end <= len(data):
            raise ValueError("cut short")
        return np.frombuffer(data[begin:end], TYPES[self.dtype]).reshape(self.shape)


def write_policy(policy: Policy, file: Path) -> None:
    """Write a policy as one file, whole or not at all."""
    rules = policy.game.rules
    header = Header(
        FORMAT, rules.name, rules.version, rules.model_dump(mode="json"), dict(policy.about),
        RoundingHeader(*policy.rounding), policy.network,
    )  # fmt: skip
    head: dict[str, Any] = {"__metadata__": {"cheaptalk": msgspec.json.encode(header).decode()}}
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
    text = msgspec.json.encode(head)
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
        tensors = msgspec.json.decode(data[8 : 8 + length], type=dict[str, Any])
        header = msgspec.json.decode(tensors.pop("__metadata__")["cheaptalk"], type=Header)
        if header.format > FORMAT:
            raise PolicyError(f"{file} is of a newer cheaptalk; upgrade to play it")
        headers = msgspec.convert(tensors, dict[str, TensorHeader])
        weights = {name: tensor.read(data[8 + length :]) for name, tensor in headers.items()}
        rules = game_box(header.game).rules.model_validate(header.parameters)
    except (KeyError, ValueError, TypeError, RecursionError):
        raise PolicyError(f"{file} is no policy, or was cut short") from None
    if header.version != rules.version:
        raise PolicyError(
            f"{file} was trained for version {header.version} of {rules.name}, and version "
            f"{rules.version} is installed; train it anew"
        )
    rounding = Rounding(header.rounding.threshold, header.rounding.bins)
    try:
        return Policy(array_game(rules), weights, header.about, rounding, header.network)
    except PolicyError as error:
        raise PolicyError(f"{file} cannot be played: {error}") from None


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
