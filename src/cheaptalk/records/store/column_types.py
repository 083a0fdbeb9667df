"""Column types that reject damaged values when they are read."""

from typing import Any

import sqlalchemy as sa

from cheaptalk.records.encoding import data_of
from cheaptalk.records.store.held_text import restored, storable
from cheaptalk.records.validation import DamagedValue, check_shape

LATEST = 1e11
"""Latest valid time, in seconds since 1970."""


class Shaped(sa.types.TypeDecorator[Any]):
    """JSON of a given shape; see :mod:`cheaptalk.records.validation`."""

    impl = sa.JSON
    cache_ok = True

    def __init__(self, shape: Any = Any) -> None:
        super().__init__()
        self.shape = shape

    def coerce_compared_value(self, op: Any, value: Any) -> Any:
        return self.impl_instance.coerce_compared_value(op, value)  # compare as an element

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return check_shape(value, self.shape)

    def read(self, text: str | None) -> Any:
        """Parse a JSON text; return None for None.

        Raises:
            DamagedValue: it is not valid JSON, or has another shape.
        """
        try:
            value = None if text is None else data_of(text)
        except ValueError as error:
            raise DamagedValue(f"invalid or truncated JSON ({error})") from None
        return check_shape(value, self.shape)


class Plain(sa.types.TypeDecorator[Any]):
    """Values of given Python types.

    Attributes:
        kinds: the types.
        what: their name in messages.
    """

    kinds: tuple[type, ...]
    what: str

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else self.read(value)

    def read(self, value: Any) -> Any:
        """Return the value.

        Raises:
            DamagedValue: it has another type.
        """
        if isinstance(value, self.kinds):
            return value
        raise DamagedValue(f"found {value!r:.40}, expected a {self.what}")


class HeldText(sa.types.TypeDecorator[str]):
    """Text in PostgreSQL, in characters that it can store, sorted by code point."""

    cache_ok = True
    impl = sa.Text

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return storable(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return restored(value)


HELD = HeldText(collation="C")


class Words(Plain):
    """Text, sorted by code point."""

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
    """Seconds since 1970, within the range of calendar dates."""

    cache_ok = True
    what = "moment"

    def read(self, value: Any) -> Any:
        if isinstance(value, self.kinds) and 0 <= value < LATEST:
            return value
        raise DamagedValue(f"found {value!r:.40}, expected a {self.what}")


class Choice(sa.types.TypeDecorator[str]):
    """One of several fixed texts."""

    impl = sa.String
    cache_ok = True

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = tuple(map(str, words))

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return None if value is None else self.read(value)

    def read(self, text: str) -> str:
        """Return the text.

        Raises:
            DamagedValue: it is not one of the choices.
        """
        if text not in self.words:
            raise DamagedValue(f'"{text}" is not one of {", ".join(self.words)}')
        return text
