"""The command line: ``cheaptalk ...``."""

from cheaptalk.cli.main import main

__all__ = ["main"]
