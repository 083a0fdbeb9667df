from .chat import ChatEnvironment, Observed, environment
from .openenv import openenv_app

__all__ = ["ChatEnvironment", "Observed", "environment", "openenv_app"]
