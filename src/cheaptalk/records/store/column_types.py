"""Types of columns that refuse a value which nobody wrote there, wherever it is read."""

from typing import Any

import sqlalchemy as sa

from cheaptalk.records.encoding import data_of
from cheaptalk.records.shapes import DamagedValue, check_shape
from cheaptalk.records.store.held_text import restored, storable

LATEST = 1e11
"""Seconds since 1970 beyond which no match is played."""


class Shaped(sa.types.TypeDecorator[Any]):
    """JSON of one shape; see :mod:`cheaptalk.records.shapes`."""

    impl = sa.JSON
    cache_ok = True

    def __init__(self, shape: Any = Any) -> None:
        super().__init__()
        self.shape = shape

    def coerce_compared_value(self, op: Any, value: Any) -> Any:
        return self.impl_instance.coerce_compared_value(op, value)  # as what stands within it

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return check_shape(value, self.shape)

    def read(self, text: str | None) -> Any:
        """What stands in a text; None where there is none.

        Raises:
            DamagedValue: it is no JSON, or of another shape.
        """
        try:
            value = None if text is None else data_of(text)
        except ValueError as error:
            raise DamagedValue(f"it is broken off, or no JSON ({error})") from None
        return check_shape(value, self.shape)


class Plain(sa.types.TypeDecorator[Any]):
    """Values of some types alone.

    Attributes:
        kinds: the types.
        what: what they are called.
    """

    kinds: tuple[type, ...]
    what: str

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else self.read(value)

    def read(self, value: Any) -> Any:
        """The value.

        Raises:
            DamagedValue: it is of another type.
        """
        if isinstance(value, self.kinds):
            return value
        raise DamagedValue(f"{value!r:.40} stands where a {self.what} should")


class HeldText(sa.types.TypeDecorator[str]):
    """Text in PostgreSQL, in characters that it holds and in the order of their numbers."""

    cache_ok = True
    impl = sa.Text

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return storable(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return restored(value)


HELD = HeldText(collation="C")


class Words(Plain):
    """Text, which sorts by the numbers of its characters."""

    cache_ok = True
    impl, kinds, what = sa.String, (str,), "text"

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        return HELD if dialect.name == "postgresql" else super().load_dialect_impl(dialect)


class LongWords(Words):
    """Text of any length."""

    cache_ok = True
    impl = sa.Text


class Whole(Plain):
    """Whole numbers."""

    cache_ok = True
    impl, kinds, what = sa.Integer, (int,), "whole number"


class Number(Plain):
    """Numbers."""

    cache_ok = True
    impl, kinds, what = sa.Float, (int, float), "number"


class Moment(Number):
    """Seconds since 1970, in the years that a calendar has."""

    cache_ok = True
    what = "moment"

    def read(self, value: Any) -> Any:
        if isinstance(value, self.kinds) and 0 <= value < LATEST:
            return value
        raise DamagedValue(f"{value!r:.40} stands where a {self.what} should")


class Choice(sa.types.TypeDecorator[str]):
    """One of some words."""

    impl = sa.String
    cache_ok = True

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = tuple(map(str, words))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else self.read(value)

    def read(self, text: str) -> str:
        """The word.

        Raises:
            DamagedValue: it is none of them.
        """
        if text not in self.words:
            raise DamagedValue(f'"{text}" is none of {", ".join(self.words)}')
        return text
