"""Griffe extension that shows doctests in docstrings as code."""

import re
from typing import Any

import griffe

DOCTEST = re.compile(r"^>>> .*(?:\n *\S.*)*", re.MULTILINE)
"""A doctest that is a paragraph of its own."""


class Doctests(griffe.Extension):
    """Puts the doctests of every docstring in fenced blocks."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring with its doctests in fenced blocks.

    >>> fenced("Add.\\n\\n>>> 1 + 1\\n2\\n\\nArgs:")
    'Add.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nArgs:'
    """
    return DOCTEST.sub(lambda doctest: f"```pycon\n{doctest[0]}\n```", docstring)
