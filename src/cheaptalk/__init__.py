"""cheaptalk: a laboratory for strategic communication."""

__version__ = "0.1.0"
