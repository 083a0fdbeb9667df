"""How commands print: text, tables, JSON, and values as people write them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import yaml
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

import cheaptalk as ct
from cheaptalk.models.model_strings import short_names
from cheaptalk.records.encoding import standard_json
from cheaptalk.text import visible


class SafeConsole(Console):
    """A console on which no text can be a command to the terminal, whoever wrote it."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; one that is closed is none."""
    return stream is not None and stream.isatty()


out = SafeConsole(highlight=False, soft_wrap=not is_terminal(sys.stdout))
err = SafeConsole(stderr=True, highlight=False, soft_wrap=not is_terminal(sys.stderr))


def say(text: object, *, to: Console = out, whole: bool = False, style: str | None = None) -> None:
    """Print a text as it is: nothing in it is markup.

    Args:
        whole: leave its lines whole, as commands to copy must be.
    """
    to.print(text, markup=False, soft_wrap=True if whole else None, style=style)


def print_json(data: Any) -> None:
    """Print data as JSON on standard output; undefined and infinite numbers are null."""
    sys.stdout.write(standard_json(data, indent=2, default=str) + "\n")


def print_table(title: str | None, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table; numbers stand right."""
    table = Table(
        title=None if title is None else Text(title),
        title_justify="left", header_style="bold", box=None, pad_edge=False,
    )  # fmt: skip
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(f"{c:,}" if isinstance(c, int) else str(c)) for c in row))
    out.print(table)


def print_batches(found: Sequence[ct.records.BatchSummary]) -> None:
    """Print providers' batches as a table."""
    short = short_names(one.model for one in found)
    rows: list[list[object]] = [
        [one.name or "", short[one.model], one.state, one.calls,
         f"{(time.time() - one.planned) / 3600:,.1f} h ago"]
        for one in found
    ]  # fmt: skip
    print_table(None, ["batch", "model", "state", "calls", "planned"], rows)


def as_yaml(value: Any) -> str:
    """A value in one line, as people write it in a study file.

    >>> as_yaml(ct.Horizon(rounds=12)), as_yaml(ct.Horizon(rounds=99, hidden=True))
    ('12', '{rounds: 99, hidden: true}')
    >>> as_yaml((0.9, 0.9)), as_yaml(True), as_yaml({})
    ('[0.9, 0.9]', 'true', '{}')
    """
    if isinstance(value, ct.Horizon) and not value.hidden:
        value = value.rounds
    plain = TypeAdapter[Any](Any).dump_python(value, mode="json", exclude_defaults=True)
    text = yaml.safe_dump(plain, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.strip().removesuffix("\n...")


def default_text(field: FieldInfo) -> str:
    """A field's default as one writes it in a study file."""
    if field.is_required():
        return "required"
    return as_yaml(field.get_default(call_default_factory=True))
