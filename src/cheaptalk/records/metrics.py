"""Metrics of matches, which are stored when a match ends, with a digest of their definitions.

The stored numbers of a match are valid while the digest of its game's metrics is the same. It
covers cheaptalk's version, the declarations of the metrics, and the source files in the packages of
the game and of its metrics, so that numbers of a changed definition are recomputed.
"""

import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from inspect import isfunction
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk import __version__
from cheaptalk.records.identity import digest
from cheaptalk.rules import Game, Metric, Quantity, Result, Strategy, get_game
from cheaptalk.rules.bounds import within


class Measured(NamedTuple):
    """The stored metrics of a match, and the digest of their definitions.

    ``numbers`` has the value of each function of :class:`MetricSet` as a little-endian 64-bit
    float; NaN if undefined.
    """

    definitions: str
    numbers: bytes


class MetricSet(NamedTuple):
    """The functions of a game's metrics and their published variants, in order.

    ``definitions`` is the digest of all definitions; None if the source of a function is unknown,
    for example because it was entered interactively. Its values are not stored.
    """

    functions: tuple[tuple[Metric, Callable[[Result], float | None]], ...]
    definitions: str | None

    @classmethod
    def of(cls, game: str) -> "MetricSet":
        """Return the metrics of an installed game; raise UnknownName if there is none."""
        game_spec = get_game(game)
        return _metric_set(game_spec.rules, tuple(game_spec.metrics.values()))

    def measure(self, result: Result) -> Measured | None:
        """Return all metrics of a match in the stored form; None if not stored, or if one fails.

        Failures and violated bounds are reported when frames are made.
        """
        if self.definitions is None:
            return None
        numbers = []
        try:
            for metric, function in self.functions:
                value = function(result)
                if value is not None and not within(value, metric.bounds_in(result.game)):
                    return None
                numbers.append(nan if value is None else value)
        except Exception:  # noqa: BLE001 - a package's metric must not stop the run
            return None
        return Measured(self.definitions, struct.pack(f"<{len(numbers)}d", *numbers))


def measure(result: Result) -> Measured | None:
    """Return the metrics of a match that has ended; None if they can't be computed and stored."""
    game = get_game(result.game.name)
    return MetricSet.of(game.name).measure(result) if type(result.game) is game.rules else None


@cache
def _metric_set(rules: type[Game], metrics: tuple[Metric, ...]) -> MetricSet:
    functions = tuple(
        (metric, function)
        for metric in metrics
        for function in (metric.of, metric.published)
        if function is not None
    )
    names = [rules.__module__]
    parts: list[str] = []
    for metric in metrics:
        for value in (metric.name, metric.bounds, metric.of, metric.published, metric.limits):
            parts.extend(_described(value, names))
    files = [file for name in dict.fromkeys(names) for file in _sources(name)]
    if any(" at 0x" in part for part in parts) or None in files:
        return MetricSet(functions, None)
    texts = (file.read_text(encoding="utf-8") for file in dict.fromkeys(files) if file)
    return MetricSet(functions, digest(__version__, *parts, *texts))


def _described(value: Any, modules: list[str]) -> Iterator[str]:
    """Yield texts that identify a value or function, and collect the modules of functions."""
    if isinstance(value, partial):
        for item in (value.func, *value.args, *value.keywords.items()):
            yield from _described(item, modules)
    elif isfunction(value):
        modules.append(value.__module__)
        yield f"{value.__qualname__} in line {value.__code__.co_firstlineno}"
        for cell in value.__closure__ or ():
            yield from _described(cell.cell_contents, modules)
    elif isinstance(value, Quantity | Strategy):  # their text does not identify their functions
        for item in vars(value).values():
            yield from _described(item, modules)
    else:
        if callable(value):
            modules.append(value.__module__)
        yield repr(value)


def _sources(name: str) -> list[Path | None]:
    """Return a module's file, the other files of its package and those of the parent package.

    An element is None if the source is unknown.
    """
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or name == "__main__" or not file or not Path(file).is_file():
        return [None]
    package = (module.__package__ or "").split(".")
    levels = Path(file).parents if package != [""] else []
    folders = [folder for folder, _ in zip(levels, package[-2:], strict=False)]
    return [Path(file), *(path for folder in folders for path in sorted(folder.glob("*.py")))]
