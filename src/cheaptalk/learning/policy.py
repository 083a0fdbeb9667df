"""Learned policies as players, evaluated with NumPy only.

A policy is a safetensors file with the network's weights; its header describes the training. A
roster entry ``{policy: FILE}`` plays only the game and the parameters that it was trained for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec
from msgspec import Struct
from pydantic import Field, model_validator

from cheaptalk.arrays.games import ArrayGame, array_game, namespace
from cheaptalk.atomic_files import whole_path
from cheaptalk.games.extras import needed
from cheaptalk.learning.rounding import AS_IT_IS, Rounding
from cheaptalk.players.seats import NO_SOURCES, RosterForm, SeatSpec, Sources
from cheaptalk.players.strategy import Scripted
from cheaptalk.rules import Action, CheaptalkError, Decide, DecisionRequest, Game, get_game, suggest
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_line
from cheaptalk.rules.registry import Registry, instances

np = needed("numpy")

Weights: TypeAlias = Mapping[str, Any]
"""Arrays by name, such as ``first.kernel``."""
FORMAT = 1
BUILT_IN = Path(__file__).parent / "policies"
"""Folder of the included policies."""
SUFFIX = ".safetensors"
RESIDUAL = "residual"
"""The network of the included algorithms; see :func:`residual`."""
TYPES = {"F32": "<f4", "F16": "<f2"}
"""NumPy's types by safetensors type."""
LARGEST = 200_000_000
"""Maximum size of a file in bytes."""


class PolicyError(CheaptalkError):
    """Raised if a file isn't a policy, or if the policy is for another game."""


@dataclass(frozen=True)
class PolicyNetwork:
    """The forward pass of a policy's network, in NumPy.

    It is also used with JAX arrays to train a best response to the policy.

    Packages register networks with the entry point ``cheaptalk.networks``, programs with
    ``ct.register(network, name=NAME)``; a :class:`.Training` names the network that it trains.

    Attributes:
        logits: a function from weights and observations, shape (..., numbers), to the actions'
            logits, shape (..., actions). It raises ``KeyError`` or ``ValueError`` for unusable
            weights.
    """

    logits: Callable[[Weights, Any], Any]


def residual(weights: Weights, observations: Any) -> Any:
    """Return the logits of a ReLU network with a dense layer, a residual dense layer and a head."""
    xp = namespace(observations)
    inner = xp.maximum(observations @ weights["first.kernel"] + weights["first.bias"], 0)
    second = xp.maximum(inner @ weights["second.kernel"] + weights["second.bias"], 0)
    return (inner + second) @ weights["head.kernel"] + weights["head.bias"]


NETWORKS: Registry[PolicyNetwork] = Registry(
    "policy network", "cheaptalk.networks", instances(PolicyNetwork)
)
"""The networks of policy files by name."""
RESIDUAL_NETWORK = PolicyNetwork(residual)


class Policy:
    """A learned policy that plays a game.

    Args:
        about: facts about the training, such as algorithm, matches, seed and hardware.
        rounding: the rule for rounding its probabilities before play.
        network: the name of its network in :data:`NETWORKS`.

    Raises:
        PolicyError: the network isn't installed, or the weights don't fit the network or game, or
            aren't finite.
    """

    def __init__(
        self,
        game: ArrayGame[Any, Any],
        weights: Weights,
        about: Mapping[str, Any],
        rounding: Rounding = AS_IT_IS,
        network: str = RESIDUAL,
    ) -> None:
        self.game = game
        self.weights = weights
        self.about = about
        self.rounding = rounding
        self.network = network
        if network not in NETWORKS:
            raise PolicyError(
                f"no installed package registers the network {suggest(network, sorted(NETWORKS))}; "
                "install the package that trained the policy"
            )
        self.logits = NETWORKS[network].logits
        self._check_weights()

    def __repr__(self) -> str:
        facts = (f"{key} {value}" for key, value in self.about.items() if value is not None)
        return brief(self, ", ".join([self.game.rules.name, *facts]))

    def _check_weights(self) -> None:
        broken = [name for name, array in self.weights.items() if not np.isfinite(array).all()]
        if broken:
            raise PolicyError(f"weights not finite: {', '.join(broken)}; train the policy again")
        try:
            with np.errstate(all="ignore"):
                observation = np.zeros(self.game.observed, np.float32)
                shape = self.logits(self.weights, observation).shape
        except (KeyError, ValueError) as error:
            problem = f"{error} is missing" if isinstance(error, KeyError) else first_line(error)
            raise PolicyError(
                f"the weights do not fit the network {self.network} with {self.game.observed} "
                f"observed numbers: {problem}"
            ) from None
        if shape != (self.game.actions,):
            raise PolicyError(
                f"the network returns logits of shape {shape}, but the game has "
                f"{self.game.actions} actions"
            )

    def probabilities(self, seen: Any, legal: Any) -> Any:
        """Return the action probabilities; shape (..., actions).

        Args:
            seen: observations, shape (..., numbers).
            legal: the legal actions, shape (..., actions).
        """
        logits = np.where(legal, self.logits(self.weights, seen), -np.inf)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return self.rounding(shares / shares.sum(axis=-1, keepdims=True))

    def decide(self, request: DecisionRequest) -> Action:
        """Return an action drawn with the actor's random numbers.

        Raises:
            PolicyError: the probabilities aren't finite, for example after an overflow.
        """
        game = self.game
        legal = game.legal_for(request)
        with np.errstate(all="ignore"):
            probabilities = self.probabilities(game.observe_request(request), legal)
        if not np.isfinite(probabilities).all():
            raise PolicyError("the policy's probabilities are not finite; train it again")
        draw = request.chance("policy").uniform() * probabilities.sum()
        number = int(np.searchsorted(np.cumsum(probabilities), draw, side="right"))
        return game.action(request, min(number, int(np.flatnonzero(legal)[-1])))

    def why_not(self, game: Game) -> str | None:
        """Return the reason why the policy can't play a game; None if it can play the game."""
        offered = game.model_dump(mode="json")
        for name, value in self.game.rules.model_dump(mode="json").items():
            if name != "names" and value != offered.get(name):
                return f"the policy was trained for {name} {value}, not {offered.get(name)}"
        return None


class Header(Struct):
    """The header of a policy's file."""

    format: int
    game: str
    version: Any
    parameters: dict[str, Any]
    about: dict[str, Any] = {}
    rounding: Rounding = AS_IT_IS
    network: str = RESIDUAL


class TensorHeader(Struct):
    """The type, shape and position of an array in a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]

    def read(self, data: bytes) -> Any:
        """Return the array; raise ``KeyError`` or ``ValueError`` if the data doesn't contain it."""
        begin, end = self.data_offsets
        if not 0 <= begin <= end <= len(data):
            raise ValueError("truncated")
        return np.frombuffer(data[begin:end], TYPES[self.dtype]).reshape(self.shape)


def write_policy(policy: Policy, file: Path | str) -> None:
    """Write a policy to one file atomically."""
    file = Path(file)
    rules = policy.game.rules
    header = Header(
        FORMAT,
        rules.name,
        rules.version,
        rules.model_dump(mode="json"),
        dict(policy.about),
        policy.rounding,
        policy.network,
    )
    tensors: dict[str, Any] = {"__metadata__": {"cheaptalk": msgspec.json.encode(header).decode()}}
    parts, offset = [], 0
    for name, array in policy.weights.items():
        data = np.ascontiguousarray(array, dtype="<f4").tobytes()
        offsets = [offset, offset + len(data)]
        tensors[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        parts.append(data)
        offset += len(data)
    text = msgspec.json.encode(tensors)
    text += b" " * (-len(text) % 8)
    with whole_path(file) as temporary:
        temporary.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *parts]))


def read_policy(file: Path | str) -> Policy:
    """Read a policy from its file.

    Raises:
        PolicyError: the file can't be read, isn't a policy, or is for another version of its game.
    """
    file = Path(file)
    try:
        if file.stat().st_size > LARGEST:
            raise PolicyError(f"{file} is too large for a policy (maximum {LARGEST:,} bytes)")
        data = file.read_bytes()
    except OSError as error:
        raise PolicyError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        length = int.from_bytes(data[:8], "little")
        tensors = msgspec.json.decode(data[8 : 8 + length], type=dict[str, Any])
        header = msgspec.json.decode(tensors.pop("__metadata__")["cheaptalk"], type=Header)
        if header.format > FORMAT:
            raise PolicyError(f"{file} was written by a newer cheaptalk; upgrade to use it")
        headers = msgspec.convert(tensors, dict[str, TensorHeader])
        weights = {name: tensor.read(data[8 + length :]) for name, tensor in headers.items()}
        rules = get_game(header.game).rules.model_validate(header.parameters)
    except (KeyError, ValueError, TypeError, RecursionError):
        raise PolicyError(f"{file} is not a policy, or is truncated") from None
    if header.version != rules.version:
        raise PolicyError(
            f"{file} was trained for version {header.version} of {rules.name}, but version "
            f"{rules.version} is installed; train it again"
        )
    try:
        return Policy(array_game(rules), weights, header.about, header.rounding, header.network)
    except PolicyError as error:
        raise PolicyError(f"{file} cannot be used: {error}") from None


@lru_cache(32)
def _known(name: str, _digest: str) -> Policy:
    return read_policy(policy_file(name))


def policy_file(name: str) -> Path:
    """Return the path of an included policy's file by name, or the given path.

    Raises:
        PolicyError: there is no such policy.
    """
    if name in policy_names():
        return BUILT_IN / f"{name}{SUFFIX}"
    if not Path(name).is_file():
        unknown = suggest(name, policy_names())
        raise PolicyError(f"no policy {unknown}; name a policy file or an included policy")
    return Path(name)


def policy_names() -> list[str]:
    """Return the sorted names of the included policies."""
    return sorted(file.stem for file in BUILT_IN.glob(f"*{SUFFIX}"))


def _digest(name: str) -> str:
    """Return 20 hexadecimal digits that identify a policy's contents."""
    try:
        return sha256(policy_file(name).read_bytes()).hexdigest()[:20]
    except OSError as error:
        raise PolicyError(f"{name}: cannot be read: {error.strerror}") from None


class PolicySeat(SeatSpec):
    """A seat filled by a learned policy.

    Attributes:
        policy: the file of the policy, or the name of an included policy.
        digest: identifies the file's contents; other weights are another player.
    """

    instant: ClassVar[bool] = True
    exact: ClassVar[bool] = True

    policy: str
    digest: str = Field(pattern="^[0-9a-f]{20}$")

    @model_validator(mode="before")
    @classmethod
    def _with_digest(cls, data: Any) -> Any:
        complete = not isinstance(data, Mapping) or "digest" in data
        if complete or not isinstance(data.get("policy"), str):
            return data
        return {**data, "digest": _digest(data["policy"])}

    def check(self) -> None:
        """Raise PolicyError if the file isn't a policy or has changed since joining a study."""
        if _digest(self.policy) != self.digest:
            raise PolicyError(
                f"{self.policy} has changed since it joined the study; use a separate file for "
                "each policy"
            )
        self.read()

    def read(self) -> Policy:
        return _known(self.policy, self.digest)

    def seat(self, game: Game, seat_name: str) -> "PolicySeat | None":
        policy = self.read()
        if policy.game.rules.name != game.name:
            return None
        reason = policy.why_not(game)
        if reason is not None:
            raise ValueError(f"policy: {reason}")
        return self

    def written(self) -> dict[str, Any]:
        return {"policy": self.policy, "digest": self.digest}

    def decide(self) -> Decide:
        return self.read().decide

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Scripted:
        return Scripted(self.decide())


class PoliciesForm(RosterForm):
    """Several policies under one label, each for the configuration that it was trained for.

    Attributes:
        policies: files, or names of included policies.
    """

    exact: ClassVar[bool] = True

    policies: Annotated[list[str], Field(min_length=1)]

    def written(self) -> dict[str, Any]:
        return {"policies": self.policies}

    def seat(self, game: Game, seat_name: str) -> PolicySeat | None:
        reasons = []
        for name in self.policies:
            policy_seat = PolicySeat.model_validate({"policy": name})
            policy = policy_seat.read()
            if policy.game.rules.name == game.name:
                reason = policy.why_not(game)
                if reason is None:
                    return policy_seat
                reasons.append(f"{name}: {reason}")
        if reasons:
            raise ValueError(f"policies: {'; '.join(reasons)}")
        return None
