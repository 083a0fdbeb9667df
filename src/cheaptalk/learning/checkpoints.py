"""Checkpoints: the state of a training run in one file, from which it resumes exactly."""

import json
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from cheaptalk.atomic_files import whole_path
from cheaptalk.games.extras import needed
from cheaptalk.learning.algorithms import Settings, Standing, Training
from cheaptalk.learning.networks import jax
from cheaptalk.rules import CheaptalkError

np = needed("numpy")

S = TypeVar("S", bound=Settings)
L = TypeVar("L", bound=Standing)
FORMAT = 1


class CheckpointError(CheaptalkError):
    """Raised if a file isn't a checkpoint of the training run to resume."""


def save(training: Training[S, L], learned: L, file: Path) -> None:
    """Write the state of a training run atomically."""
    parts = {f"{number:04}": np.asarray(array) for number, array in enumerate(_leaves(learned))}
    metadata = {"cheaptalk": json.dumps({"format": FORMAT} | _identity(training))}
    with whole_path(file) as temporary:
        save_file(parts, temporary, metadata)


def load(training: Training[S, L], file: Path) -> L:
    """Read the state of a training run.

    Raises:
        CheckpointError: the file can't be read, or belongs to another algorithm, game or settings.
    """
    try:
        with safe_open(file, "np") as tensors:
            metadata = json.loads((tensors.metadata() or {})["cheaptalk"])
            parts = [tensors.get_tensor(name) for name in sorted(tensors.keys())]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{file} is not a checkpoint, or is truncated ({error})") from None
    if metadata.pop("format") > FORMAT:
        raise CheckpointError(f"{file} was written by a newer cheaptalk; upgrade to resume it")
    for name, expected in _identity(training).items():
        stored = metadata.get(name, expected)
        names = (key for key in {**expected, **stored} if stored.get(key) != expected.get(key))
        if first := next(names, None):
            raise CheckpointError(
                f"{file} belongs to a training with {name} {first} {stored.get(first)}, not "
                f"{expected.get(first)}; resume with the original value, or choose another file"
            )
    template = training.begin()
    leaves = [
        jax.random.wrap_key_data(part) if _is_key(leaf) else part
        for leaf, part in zip(jax.tree.leaves(template), parts, strict=True)
    ]
    state: L = jax.tree.unflatten(jax.tree.structure(template), leaves)
    return state


def _identity(training: Training[S, L]) -> dict[str, dict[str, Any]]:
    """Return the settings that must match between a training run and its checkpoint."""
    rules = training.game.rules
    game = {"name": rules.name, "version": rules.version} | rules.model_dump(mode="json")
    settings = training.settings.model_dump(mode="json")
    return {"algorithm": {"name": training.name}, "game": game, "settings": settings}


def _leaves(learned: Any) -> list[Any]:
    return [
        jax.random.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(learned)
    ]


def _is_key(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key))
