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
from .model_strings import SCRIPTS, ModelName, missing_requirement
from .prices import Price, PriceError, Prices, built_in_prices, load_prices
from .providers import (
    PROVIDERS,
    Family,
    Provider,
    ProviderError,
    user_provider_file,
)
from .retirements import is_retired, retirement
from .settings import check_settings

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
    "built_in_prices",
    "check_settings",
    "is_retired",
    "load_prices",
    "missing_requirement",
    "retirement",
    "user_provider_file",
]
