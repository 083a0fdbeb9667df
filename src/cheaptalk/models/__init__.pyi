from . import model_strings as model_strings
from . import prices as prices
from . import providers as providers
from . import remote_agents as remote_agents
from . import settings as settings
from . import structured_output as structured_output
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
from .model_strings import SCRIPTS, ModelName, missing
from .prices import Price, PriceError, Prices, load_prices, own_prices
from .providers import PROVIDERS, Family, Provider, ProviderError, read_providers, users_file
from .settings import check_settings, family

__all__ = [
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
    "ProviderError",
    "Reasoning",
    "Reply",
    "Route",
    "Usage",
    "check_settings",
    "family",
    "load_prices",
    "missing",
    "own_prices",
    "read_providers",
    "users_file",
]
