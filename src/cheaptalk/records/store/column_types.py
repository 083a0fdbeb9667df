"""Column types that reject damaged values when they are read."""

from typing import Any

import sqlalchemy as sa

from cheaptalk.records.encoding import data_of, restored, storable
from cheaptalk.records.validation import DamagedValue, check_shape

LATEST = 1e11
"""Latest valid time, in seconds since 1970."""


class Shaped(sa.types.TypeDecorator[Any]):
    """A JSON column whose values are validated against a type when they are read."""

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
        """Parse and validate a JSON text; raise DamagedValue if it is invalid."""
        try:
            value = None if text is None else data_of(text)
        except ValueError as error:
            raise DamagedValue(f"invalid or truncated JSON ({error})") from None
        return check_shape(value, self.shape)


class Plain(sa.types.TypeDecorator[Any]):
    """A column whose values must have one of the given Python types, named in messages."""

    kinds: tuple[type, ...]
    what: str

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return None if value is None else self.read(value)

    def read(self, value: Any) -> Any:
        """Return a value if it has the column's type; otherwise raise DamagedValue."""
        if isinstance(value, self.kinds):
            return value
        raise DamagedValue(f"found {value!r:.40}, expected a {self.what}")


class HeldText(sa.types.TypeDecorator[str]):
    """A text column, sorted by code point, that escapes characters PostgreSQL can't store."""

    cache_ok = True
    impl = sa.Text

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return storable(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        return restored(value)


HELD = HeldText(collation="C")


class Words(Plain):
    """A column of text, sorted by code point."""

    cache_ok = True
    impl, kinds, what = sa.String, (str,), "text"

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        return HELD if dialect.name == "postgresql" else super().load_dialect_impl(dialect)


class LongWords(Words):
    """A column of text of any length."""

    cache_ok = True
    impl = sa.Text


class Whole(Plain):
    """A column of whole numbers."""

    cache_ok = True
    impl, kinds, what = sa.Integer, (int,), "whole number"


class Number(Plain):
    """A column of numbers."""

    cache_ok = True
    impl, kinds, what = sa.Float, (int, float), "number"


class Moment(Number):
    """A column of times in seconds since 1970, within the range of calendar dates."""

    cache_ok = True
    what = "moment"

    def read(self, value: Any) -> Any:
        if isinstance(value, self.kinds) and 0 <= value < LATEST:
            return value
        raise DamagedValue(f"found {value!r:.40}, expected a {self.what}")


class Choice(Plain):
    """A column whose values are one of several fixed texts."""

    cache_ok = True
    impl = sa.String

    def __init__(self, *words: str) -> None:
        super().__init__()
        self.words = tuple(map(str, words))

    def read(self, value: Any) -> Any:
        if value in self.words:
            return value
        raise DamagedValue(f'"{value}" is not one of {", ".join(self.words)}')
