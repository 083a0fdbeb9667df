"""How commands print: text, tables, JSON, and values as people write them."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TextIO

import yaml
from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from rich.console import Console, ConsoleOptions, RenderableType
from rich.panel import Panel
from rich.segment import Segment
from rich.text import Text

import cheaptalk as ct
from cheaptalk.cli.shared.layout import folded, table_lines
from cheaptalk.models.model_strings import short_names
from cheaptalk.records.encoding import standard_json
from cheaptalk.text import visible


class SafeConsole(Console):
    """A console on which no text can be a command to the terminal, whoever wrote it.

    Texts are folded at spaces on a terminal, and never elsewhere; no word is broken.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        wide = options.get("soft_wrap")
        if len(objects) == 1 and not (self.soft_wrap if wide is None else wide):
            text = objects[0]
            if isinstance(text, str):
                markup = options.pop("markup", None)
                text = self.render_str(text, markup=markup, highlight=False)
            if isinstance(text, Text):
                objects, options["soft_wrap"] = (folded(text, self.width),), True
        super().print(*objects, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a standard stream is a terminal; one that is closed is none."""
    return stream is not None and stream.isatty()


out = SafeConsole(highlight=False, emoji=False, soft_wrap=not is_terminal(sys.stdout))
err = SafeConsole(stderr=True, highlight=False, emoji=False, soft_wrap=not is_terminal(sys.stderr))


def say(text: object, *, to: Console = out, whole: bool = False, style: str | None = None) -> None:
    """Print a text as it is: nothing in it is markup.

    Args:
        whole: leave its lines whole, as commands to copy must be.
    """
    to.print(text, markup=False, soft_wrap=True if whole else None, style=style)


def say_boxed(text: str, title: str | None = None) -> None:
    """Print a text in a box on a terminal; elsewhere behind its title, if it has one."""
    if out.soft_wrap:
        say(f"{title}: {text}" if title else text)
    else:
        out.print(Panel(folded(Text(text), out.width - 4), title=title))


def print_json(data: Any) -> None:
    """Print data as JSON on standard output; undefined and infinite numbers are null."""
    sys.stdout.write(standard_json(data, indent=2, default=str) + "\n")


def print_table(
    title: str | None,
    columns: list[str],
    rows: list[list[object]],
    *,
    right: Collection[str] = (),
) -> None:
    """Print a table; numbers stand right, and columns named so."""
    if title is not None:
        say(title, style="italic")
    stand = [
        place
        for place, column in enumerate(columns)
        if column in right or (rows and all(isinstance(row[place], int | float) for row in rows))
    ]
    cells = [[f"{c:,}" if isinstance(c, int) else visible(str(c)) for c in row] for row in rows]
    width = None if out.soft_wrap else out.width
    head, lines = table_lines(columns, cells, width, stand)
    for some, style in ((head, "bold"), (lines, None)):
        if some:
            say("\n".join(some), whole=True, style=style)


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
