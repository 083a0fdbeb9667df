"""What models cost: a table of prices by model string, which users can put their own before."""

import os
import re
from datetime import date
from fnmatch import fnmatchcase
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from cheaptalk.models.calls import Reply, Usage
from cheaptalk.models.providers import SCHEME
from cheaptalk.rules import CheaptalkError, Value
from cheaptalk.rules.errors import first_problem
from cheaptalk.yaml_files import read_yaml

VARIABLE = "CHEAPTALK_PRICES"
"""The environment variable that names a file of prices."""
FILE = Path("prices.yaml")
"""The file of prices that is read where the variable names none, if it is there."""
PACKAGE = "cheaptalk"
"""What stands for the file of prices that comes with the package."""
MILLION = 1_000_000

Rate = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class PriceError(CheaptalkError, ValueError):
    """A file of prices that cannot be read: one line that names file, entry and cure."""


class Price(Value):
    """What some models cost, in US dollars per million tokens.

    Attributes:
        models: patterns of model strings without their URL: ``*`` stands for anything, ``?`` for
            one character.
        input: tokens of the question.
        cached_input: those of them that the provider had read before; as ``input`` if not set.
        output: tokens of the answer, reasoning included.
        batch: what a provider's batch costs, as a share of this.
        reasons: whether the models reason unless they are told not to.
        as_of: the date of the price.
        note: what else one should know.
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
        """What these tokens cost, in dollars.

        >>> price = Price(models=["x"], input=2, cached_input=1, output=8, as_of=date(2025, 6, 1))
        >>> price.dollars(Usage(input_tokens=1_000_000, cached_tokens=500_000, output_tokens=1_000))
        1.508
        """
        cached_rate = self.input if self.cached_input is None else self.cached_input
        cached = min(usage.cached_tokens, usage.input_tokens)
        whole = (usage.input_tokens - cached) * self.input + cached * cached_rate
        whole += usage.output_tokens * self.output
        return whole * (self.batch if batch else 1) / MILLION

    @property
    def free(self) -> bool:
        """Whether nothing is paid, however many tokens there are."""
        return self.input == self.output == 0


class Prices:
    """The prices of models; those of earlier files go before those of later ones.

    Args:
        lists: prices by the name of the file that they stand in.
    """

    def __init__(self, lists: dict[str, tuple[Price, ...]]) -> None:
        self.lists = lists
        self._found: dict[str, Price | None] = {}

    def listed(self) -> list[tuple[Price, str]]:
        """All prices with their files' names, in the order in which they are looked up."""
        return [(price, source) for source, prices in self.lists.items() for price in prices]

    def of(self, model: str) -> Price | None:
        """The price of a model string: the longest pattern that matches, in the first file with
        one; None where no pattern does."""
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
                return max(fitting, key=lambda one: one[0])[1]
        return None

    def paid(self, model: str, reply: Reply) -> float | None:
        """What a reply cost, in dollars; None where its price or its tokens are not known.

        A call that was turned away, as for a wrong key, costs nothing, whatever the price.
        """
        if reply.status and not reply.usage.input_tokens:
            return 0.0
        price = self.of(model)
        if price is None or (reply.uncounted and not price.free):
            return None
        return price.dollars(reply.usage, batch=reply.batch)


def without_url(model: str) -> str:
    """A model string without the URL of its server.

    >>> without_url("vllm/tiny@http://localhost:8000/v1"), without_url("openai/gpt-4o")
    ('vllm/tiny', 'openai/gpt-4o')
    """
    return re.split(f"@{SCHEME}", model)[0]


def own_prices() -> Traversable:
    """The file of prices that comes with the package."""
    return files("cheaptalk.models") / "prices.yaml"


def load_prices(file: Path | str | None = None) -> Prices:
    """The prices of the package, with a user's own before them.

    Args:
        file: the user's own; if not given, the file that ``CHEAPTALK_PRICES`` names, or
            ``prices.yaml`` in this folder if it is there.

    Raises:
        PriceError: a file cannot be read, or is no list of prices.
    """
    named = os.environ.get(VARIABLE)
    own = Path(file) if file else (Path(named) if named else FILE if FILE.exists() else None)
    lists = {} if own is None else {str(own): read_prices(own)}
    return Prices(lists | {PACKAGE: read_prices(own_prices())})


def read_prices(source: Path | Traversable) -> tuple[Price, ...]:
    """Read a file of prices.

    Raises:
        PriceError: it cannot be read, or is no list of prices.
    """
    try:
        data = read_yaml(source)
    except ValueError as error:
        raise PriceError(str(error)) from None
    if not isinstance(data, list):
        raise PriceError(
            f"{source}: a file of prices is a list; write one to edit with: "
            "cheaptalk prices --init FILE"
        )
    found = []
    for number, entry in enumerate(data, start=1):
        try:
            found.append(Price.model_validate(entry))
        except ValidationError as error:
            raise PriceError(f"{source}: entry {number}: {first_problem(error)}") from None
    return tuple(found)
