"""The entry point of ``python -m cheaptalk``."""

from cheaptalk.cli import main

main()
