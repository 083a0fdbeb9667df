"""Low-rank changes to a large model, which a vLLM server loads while it runs.

The server is started with the model, ``--enable-lora`` and the environment variable
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=True``, on a machine that has the folders of the changes.
"""

from pathlib import Path

from cheaptalk.calls.event_loop import drive
from cheaptalk.learning.language.trainers.trainer import TrainingFailed
from cheaptalk.models.http.endpoint import Endpoint
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.model_strings import ModelName

LOADED = "already been loaded"
"""What a server says of changes that it has."""


def is_adapter(model: Path | str) -> bool:
    """Whether a folder holds low-rank changes to a model, and not a model."""
    return (Path(model) / "adapter_config.json").exists()


def served(model: str, url: str) -> str:
    """The model string of a model, or of changes to one, at a server."""
    return f"vllm/{_name(model) if is_adapter(model) else model}@{url}"


def load_adapter(model: str, url: str) -> None:
    """Let a server load changes, unless it has; nothing of what is no changes.

    Raises:
        TrainingFailed: the server refuses, or there is none.
    """
    if not is_adapter(model):
        return
    wanted = {"lora_name": _name(model), "lora_path": str(Path(model).absolute())}

    async def load() -> None:
        server = Endpoint(ModelName.parse(served(model, url)), {})
        try:
            await server.read("POST", "load_lora_adapter", json=wanted)
        except EndpointTrouble as trouble:
            if LOADED not in str(trouble):
                raise TrainingFailed(f"{url} does not load {model}: {trouble}") from None
        finally:
            await server.close()

    drive(load(), lambda: None)


def _name(folder: str) -> str:
    """What the server is to call changes: the lineage and its model."""
    path = Path(folder).absolute()
    return f"{path.parent.name}-{path.name}"
