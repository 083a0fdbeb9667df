"""What fields mean, read from the docstrings beneath them when somebody asks."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache

from pydantic import BaseModel


@cache
def field_meanings(model: type[BaseModel]) -> dict[str, str]:
    """The docstring of each field of a model, inherited ones included; "" where there is none.

    Reading source takes time, so it is done here and not whenever a class is made.
    """
    found = dict.fromkeys(model.model_fields, "")
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found.update((name, text) for name, text in _documented(base) if name in found)
    return found


def _documented(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    try:
        source = textwrap.dedent(inspect.getsource(model))
    except (OSError, TypeError):
        return
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    for statement, after in zip(body.body, body.body[1:], strict=False):
        match statement, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield name, " ".join(inspect.cleandoc(text).split())
