"""Checkpoints: a training as one file, from which it goes on to the same numbers."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from cheaptalk.games.extras import needed
from cheaptalk.learning.networks import jax
from cheaptalk.learning.nfsp import NFSP, Learned
from cheaptalk.rules import CheaptalkError
from cheaptalk.whole_files import whole_path

np = needed("numpy")

FORMAT = 1


class CheckpointError(CheaptalkError):
    """A file is no checkpoint of this training."""


def save(training: NFSP, learned: Learned, file: Path) -> None:
    """Write a training as it stands, whole or not at all."""
    parts = {f"{number:04}": np.asarray(one) for number, one in enumerate(_leaves(learned))}
    told = {"cheaptalk": json.dumps({"format": FORMAT} | _of(training))}
    with whole_path(file) as half:
        save_file(parts, half, told)


def load(training: NFSP, file: Path) -> Learned:
    """A training as it was written.

    Raises:
        CheckpointError: it cannot be read, or is of another game or of other settings; the message
            names what differs.
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
        if told[name] != own:
            differs = next(key for key in own if told[name].get(key) != own[key])
            raise CheckpointError(
                f"{file} is of a training with {name} {differs} {told[name].get(differs)}, not "
                f"{own[differs]}; go on with what it was, or begin another file"
            )
    like = training.begin()
    leaves = [
        jax.random.wrap_key_data(part) if _is_key(old) else part
        for old, part in zip(jax.tree.leaves(like), parts, strict=True)
    ]
    found: Learned = jax.tree.unflatten(jax.tree.structure(like), leaves)
    return found


def _of(training: NFSP) -> dict[str, dict[str, Any]]:
    """What a training must have in common with its checkpoint."""
    rules = training.game.rules
    game = {"name": rules.name, "version": rules.version} | rules.model_dump(mode="json")
    return {"game": game, "settings": training.settings.model_dump(mode="json")}


def _leaves(learned: Learned) -> list[Any]:
    """The arrays of a training, keys as numbers."""
    return [jax.random.key_data(one) if _is_key(one) else one for one in jax.tree.leaves(learned)]


def _is_key(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, jax.dtypes.prng_key))
