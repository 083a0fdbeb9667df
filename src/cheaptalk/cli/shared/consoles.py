"""Classes of the package rich for printing, imported when a command first prints."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from cheaptalk.cli.shared.layout import folded
from cheaptalk.text import visible

__all__ = [
    "BarColumn", "MofNCompleteColumn", "Panel", "Progress", "SafeConsole", "Status", "Table",
    "Text", "TextColumn", "boxed", "escape",
]  # fmt: skip


class SafeConsole(Console):
    """A console that escapes control characters and, on a terminal, wraps text between words."""

    def print(self, *objects: Any, **options: Any) -> None:
        soft_wrap = options.get("soft_wrap")
        if len(objects) == 1 and not (self.soft_wrap if soft_wrap is None else soft_wrap):
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


def boxed(text: str, title: str | None, width: int) -> Panel:
    """Return a text in a box, wrapped between words."""
    return Panel(folded(Text(text), width - 4), title=title)
