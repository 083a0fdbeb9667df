"""Replication of language model self-play on Deal or No Deal (Liao, Tomlin and Klein 2024)."""

import lazy_loader

from cheaptalk.yaml_files import yaml_files

PRESETS = yaml_files(__file__, "presets")
ROSTERS = yaml_files(__file__, "rosters")

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["experiment"])
