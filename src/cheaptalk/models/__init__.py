"""Chat models behind one small protocol: messages in, text and usage out."""

from cheaptalk.models.calls import (
    AnswerForm,
    Failure,
    Message,
    ModelCall,
    ModelSettings,
    Reply,
    Usage,
)
from cheaptalk.models.names import PROVIDERS, ModelName, Provider

__all__ = [
    "PROVIDERS", "AnswerForm", "Failure", "Message", "ModelCall", "ModelName", "ModelSettings",
    "Provider", "Reply", "Usage",
]  # fmt: skip
