from .chat import ChatEnvironment, Observed, environment

__all__ = ["ChatEnvironment", "Observed", "environment"]
