"""LoRA adapters of a large model, loaded into a running vLLM server.

Start the server with the base model, ``--enable-lora`` and the environment variable
``VLLM_ALLOW_RUNTIME_LORA_UPDATING=True``, on a machine that can read the adapters' folders.
"""

from pathlib import Path

from cheaptalk.calls.event_loop import drive
from cheaptalk.learning.language.trainers.trainer import TrainingFailed
from cheaptalk.models.http.endpoint import Endpoint
from cheaptalk.models.http.failures import EndpointTrouble
from cheaptalk.models.model_strings import ModelName

LOADED = "already been loaded"
"""Part of the server's message if an adapter is loaded already."""


def is_adapter(model: Path | str) -> bool:
    """Return whether a folder contains a LoRA adapter instead of a model."""
    return (Path(model) / "adapter_config.json").exists()


def served(model: str, url: str) -> str:
    """Return the model string of a model or adapter on a vLLM server."""
    return f"vllm/{_name(model) if is_adapter(model) else model}@{url}"


def load_adapter(model: str, url: str) -> None:
    """Load a LoRA adapter into a vLLM server unless it is already loaded; ignore full models."""
    if not is_adapter(model):
        return
    request = {"lora_name": _name(model), "lora_path": str(Path(model).absolute())}

    async def load() -> None:
        server = Endpoint(ModelName.parse(served(model, url)), {})
        try:
            await server.read("POST", "load_lora_adapter", json=request)
        except EndpointTrouble as trouble:
            if LOADED not in str(trouble):
                raise TrainingFailed(f"the server {url} cannot load {model}: {trouble}") from None
        finally:
            await server.close()

    drive(load(), lambda: None)


def _name(folder: str) -> str:
    path = Path(folder).absolute()
    return f"{path.parent.name}-{path.name}"
