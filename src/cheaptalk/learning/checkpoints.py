"""Checkpoints: a training as one file, from which it goes on to the same numbers."""

import json
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from cheaptalk.games.extras import needed
from cheaptalk.learning.algorithms import Settings, Standing, Training
from cheaptalk.learning.networks import jax
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_path

np = needed("numpy")

S = TypeVar("S", bound=Settings)
L = TypeVar("L", bound=Standing)
FORMAT = 1


class CheckpointError(CheaptalkError):
    """A file is no checkpoint of this training."""


def save(training: Training[S, L], learned: L, file: Path) -> None:
    """Write a training as it stands, whole or not at all."""
    parts = {f"{number:04}": np.asarray(one) for number, one in enumerate(_leaves(learned))}
    told = {"cheaptalk": json.dumps({"format": FORMAT} | _of(training))}
    with whole_path(file) as half:
        save_file(parts, half, told)


def load(training: Training[S, L], file: Path) -> L:
    """A training as it was written.

    Raises:
        CheckpointError: it cannot be read, or is of another algorithm, another game or other
            settings; the message names what differs.
    """
    try:
        with safe_open(file, "np") as opened:
            told = json.loads((opened.metadata() or {})["cheaptalk"])
            parts = [opened.get_tensor(name) for name in sorted(opened.keys())]
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise CheckpointError(f"{file} is no checkpoint, or was cut short ({error})") from None
    if told.pop("format") > FORMAT:
        raise CheckpointError(f"{file} is of a newer cheaptalk; upgrade to go on with it")
    for name, own in _of(training).items():
        was = told.get(name, own)
        if differs := [key for key in {**own, **was} if was.get(key) != own.get(key)]:
            first = differs[0]
            raise CheckpointError(
                f"{file} is of a training with {name} {first} {was.get(first)}, not "
                f"{own.get(first)}; go on with what it was, or begin another file"
            )
    like = training.begin()
    leaves = [
        jax.random.wrap_key_data(part) if _is_key(old) else part
        for old, part in zip(jax.tree.leaves(like), parts, strict=True)
    ]
    found: L = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return found


def _of(training: Training[S, L]) -> dict[str, dict[str, Any]]:
    """What a training must have in common with its checkpoint."""
    rules = training.game.rules
    game = {"name": rules.name, "version": rules.version} | rules.model_dump(mode="json")
    settings = training.settings.model_dump(mode="json")
    return {"algorithm": {"name": training.name}, "game": game, "settings": settings}


def _leaves(learned: Any) -> list[Any]:
    """The arrays of a training, keys as numbers."""
    return [jax.random.key_data(one) if _is_key(one) else one for one in jax.tree.leaves(learned)]


def _is_key(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key))
