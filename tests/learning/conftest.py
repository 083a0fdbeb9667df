"""A cache of compiled functions, because compiling takes longer than training."""

from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.fixture(scope="session", autouse=True)
def compiled(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let tests and test runs share compiled functions."""
    if find_spec("jax") is None:
        return
    jax = import_module("jax")
    cache = getattr(pytestconfig, "cache", None)
    folder = cache.mkdir("jax") if cache else tmp_path_factory.mktemp("jax")
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
