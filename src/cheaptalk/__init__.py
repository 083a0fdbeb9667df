"""cheaptalk: a laboratory for strategic communication.

Language models, people, scripted strategies and recorded players bargain, negotiate and persuade
under the same rules. Names in this package are loaded at the first use. Examples in docstrings
begin with ``import cheaptalk as ct``.
"""

import lazy_loader

__version__ = "0.1.0"

_load, _, _names = lazy_loader.attach_stub(__name__, __file__)
_INTERNAL = {"doctor", "loopback", "mock_models", "starters", "yaml_files"}
__all__ = sorted({*_names} - _INTERNAL)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> object:
    """Load a name on first use; keep it, because games read names such as ``ct.Ask`` in loops."""
    value = globals()[name] = _load(name)
    return value
