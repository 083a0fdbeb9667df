"""Values that must exist."""

from typing import TypeVar

Value = TypeVar("Value")


def known(value: Value | None) -> Value:
    """Return a value after checking that it is not None."""
    assert value is not None
    return value
