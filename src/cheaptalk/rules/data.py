"""Data that rules and players pass: immutable, and without fields that nobody declared."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    """Immutable data; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def unchecked(cls, **fields: Any) -> Self:
        """Data of fields that are known to be right: all of them, each of its final type.

        For what rules and scripts compute in every match. The same as pydantic's
        ``model_construct``, which looks every field up, in half the time.
        """
        value = cls.__new__(cls)
        object.__setattr__(value, "__dict__", fields)
        object.__setattr__(value, "__pydantic_fields_set__", set(fields))
        object.__setattr__(value, "__pydantic_extra__", None)
        object.__setattr__(value, "__pydantic_private__", None)
        return value
