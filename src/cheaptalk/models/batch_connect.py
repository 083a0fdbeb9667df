"""The way to all providers' batch endpoints."""

from cheaptalk.models.batch import BatchServer
from cheaptalk.models.batch_anthropic import AnthropicBatches
from cheaptalk.models.batch_openai import OpenAIBatches
from cheaptalk.models.names import ModelName


def open_batches(name: ModelName) -> BatchServer:
    """The batch endpoint of a model's provider, one of :data:`cheaptalk.models.batch.PROVIDERS`."""
    return AnthropicBatches(name) if name.provider == "anthropic" else OpenAIBatches(name)
