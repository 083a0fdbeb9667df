from .report import report

__all__ = ["report"]
