"""Caps as they are written on the command line: the same for all commands."""

from __future__ import annotations

from collections.abc import Sequence

import typer
from pydantic import ValidationError

import cheaptalk as ct
from cheaptalk.rules.errors import first_problem

CAPS = "calls=N,tokens=N,dollars=X"
"""How caps are written behind ``--budget``."""
LIFTED = "none"


def cap_of(written: Sequence[str]) -> ct.studies.Cap:
    """Caps as written behind ``--budget``: NAME=NUMBER, with commas between or behind several.

    A cap that is lifted with ``none`` is among the fields that are set, and is None.

    >>> cap_of(["calls=500,dollars=2.5", "tokens=none"]).model_dump(exclude_unset=True)
    {'calls': 500, 'tokens': None, 'dollars': 2.5}

    Raises:
        BadParameter: one is not NAME=NUMBER, is no cap, or stands twice.
    """
    caps: dict[str, float | None] = {}
    for one in (part for text in written for part in text.split(",")):
        name, _, value = (part.strip() for part in one.partition("="))
        if name in caps:
            raise _wrong(f"{name} stands twice")
        try:
            caps[name] = None if value == LIFTED else float(value)
        except ValueError:
            raise _wrong(f'"{one}" is not NAME=NUMBER; write {CAPS}') from None
    try:
        return ct.studies.Cap.model_validate(caps)
    except ValidationError as error:
        raise _wrong(first_problem(error)) from None


def _wrong(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--budget")
