"""Chat models behind one small protocol: messages in, text and usage out."""

from cheaptalk.models.calls import (
    AnswerForm,
    AskedRoute,
    Failure,
    Message,
    ModelCall,
    ModelSettings,
    Reasoning,
    Reply,
    Route,
    Usage,
)
from cheaptalk.models.model_strings import PROVIDERS, SCRIPTS, ModelName, Provider, missing
from cheaptalk.models.prices import Price, PriceError, Prices, load_prices, own_prices
from cheaptalk.models.settings import FAMILIES, Family, check_settings, family

__all__ = [
    "FAMILIES", "PROVIDERS", "SCRIPTS", "AnswerForm", "AskedRoute", "Failure", "Family", "Message",
    "ModelCall", "ModelName", "ModelSettings", "Price", "PriceError", "Prices", "Provider",
    "Reasoning", "Reply", "Route", "Usage", "check_settings", "family", "load_prices", "missing",
    "own_prices",
]  # fmt: skip
