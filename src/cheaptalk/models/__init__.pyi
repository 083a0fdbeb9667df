from . import model_strings as model_strings
from .calls import (
    AnswerForm,
    AskedRoute,
    ChatMessage,
    Failure,
    ModelCall,
    ModelSettings,
    Reasoning,
    Reply,
    Route,
    Usage,
)
from .model_strings import PROVIDERS, SCRIPTS, ModelName, Provider, missing
from .prices import Price, PriceError, Prices, load_prices, own_prices
from .settings import FAMILIES, Family, check_settings, family

__all__ = [
    "FAMILIES",
    "PROVIDERS",
    "SCRIPTS",
    "AnswerForm",
    "AskedRoute",
    "ChatMessage",
    "Failure",
    "Family",
    "ModelCall",
    "ModelName",
    "ModelSettings",
    "Price",
    "PriceError",
    "Prices",
    "Provider",
    "Reasoning",
    "Reply",
    "Route",
    "Usage",
    "check_settings",
    "family",
    "load_prices",
    "missing",
    "own_prices",
]
