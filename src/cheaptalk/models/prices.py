"""Prices of models by model string; users can override them."""

import os
import re
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from cheaptalk.models.calls import Reply, Usage
from cheaptalk.models.providers import SCHEME
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.display import brief
from cheaptalk.rules.errors import first_problem
from cheaptalk.yaml_files import read_yaml

VARIABLE = "CHEAPTALK_PRICES"
"""Environment variable with the path of a user's price file."""
FILE = Path("prices.yaml")
"""Default price file of users, read if it exists."""
PACKAGE = "cheaptalk"
"""Name of the built-in price file in tables."""
MILLION = 1_000_000

Rate = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class PriceError(CheaptalkError, ValueError):
    """Raised if a price file is invalid; the message names the file, the entry and the fix."""


class Price(Value):
    """The price of models that match patterns, in US dollars per million tokens.

    Attributes:
        models: patterns of model strings without URLs: ``*`` matches anything, ``?`` one character.
        cached_input: price of cached input tokens; by default ``input``.
        output: price of output tokens, including reasoning.
        batch: factor of the price in a provider batch.
        reasons: whether the models reason by default.
        as_of: date of the price.
    """

    models: Annotated[tuple[str, ...], Field(min_length=1)]
    input: Rate
    cached_input: Rate | None = None
    output: Rate
    batch: Annotated[float, Field(gt=0, le=1)] = 1
    reasons: Annotated[bool, Field(strict=True)] = False
    as_of: date
    note: str | None = None

    def dollars(self, usage: Usage, *, batch: bool = False) -> float:
        """Return the cost of a call's tokens in dollars.

        >>> price = Price(models=["x"], input=2, cached_input=1, output=8, as_of=date(2025, 6, 1))
        >>> price.dollars(Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=1_000))
        1.508
        """
        cached_rate = self.input if self.cached_input is None else self.cached_input
        cached = min(usage.cached_tokens, usage.input_tokens)
        total = (usage.input_tokens - cached) * self.input + cached * cached_rate
        total += usage.output_tokens * self.output
        return total * (self.batch if batch else 1) / MILLION

    @property
    def free(self) -> bool:
        return self.input == self.output == 0


class Prices:
    """Prices of models by file name; earlier files take precedence."""

    def __init__(self, lists: dict[str, tuple[Price, ...]]) -> None:
        self.lists = lists
        self._found: dict[str, Price | None] = {}

    def __repr__(self) -> str:
        sizes = (f"{name} ({len(prices)} prices)" for name, prices in self.lists.items())
        return brief(self, ", ".join(sizes))

    def listed(self) -> list[tuple[Price, str]]:
        """Return all prices in lookup order, each with its file name."""
        return [(price, source) for source, prices in self.lists.items() for price in prices]

    def of(self, model: str) -> Price | None:
        """Return a model's price: the longest matching pattern in the first file with a match."""
        if model not in self._found:
            self._found[model] = self._find(without_url(model))
        return self._found[model]

    def _find(self, name: str) -> Price | None:
        for prices in self.lists.values():
            fitting = [
                (len(pattern), price)
                for price in prices
                for pattern in price.models
                if fnmatchcase(name, pattern)
            ]
            if fitting:
                return max(fitting, key=lambda match: match[0])[1]
        return None

    def paid(self, model: str, reply: Reply) -> float | None:
        """Return the cost of a reply in dollars; None if the price or the token count is unknown.

        A rejected call, for example with a wrong key, costs nothing.
        """
        if reply.status and not reply.usage.input_tokens:
            return 0.0
        price = self.of(model)
        if price is None or (reply.uncounted and not price.free):
            return None
        return price.dollars(reply.usage, batch=reply.batch)


def without_url(model: str) -> str:
    """Remove the URL from a model string.

    >>> without_url("vllm/tiny@http://localhost:8000/v1"), without_url("openai/gpt-4o")
    ('vllm/tiny', 'openai/gpt-4o')
    """
    return re.split(f"@{SCHEME}", model)[0]


def built_in_prices() -> Traversable:
    """Return the built-in price file."""
    return files("cheaptalk.models") / "prices.yaml"


def load_prices(file: Path | str | None = None) -> Prices:
    """Load the built-in prices, overridden by a user's file.

    Args:
        file: the user's file; by default the file in ``CHEAPTALK_PRICES``, or ``prices.yaml`` in
            the current folder if it exists.

    Raises:
        PriceError: a file cannot be read, or is not a list of prices.
    """
    named = os.environ.get(VARIABLE)
    user_file = Path(file) if file else (Path(named) if named else FILE if FILE.exists() else None)
    lists = {} if user_file is None else {str(user_file): read_prices(user_file)}
    return Prices(lists | {PACKAGE: package_prices()})


@cache
def package_prices() -> tuple[Price, ...]:
    """Return the prices in the built-in price file."""
    return read_prices(built_in_prices())


def read_prices(source: Path | Traversable) -> tuple[Price, ...]:
    """Read a price file; raise PriceError if it is not a valid list of prices."""
    try:
        data = read_yaml(source)
    except ValueError as error:
        raise PriceError(str(error)) from None
    if not isinstance(data, list):
        raise PriceError(
            f"{source}: a price file must be a list; create one to edit with: "
            "cheaptalk model prices --init FILE"
        )
    prices = []
    for number, entry in enumerate(data, start=1):
        try:
            prices.append(Price.model_validate(entry))
        except ValidationError as error:
            raise PriceError(f"{source}: entry {number}: {first_problem(error)}") from None
    return tuple(prices)
