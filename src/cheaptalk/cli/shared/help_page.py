"""Layout of help pages: plain text of at most 100 columns, wrapped between words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import typer
from typer._click.formatting import HelpFormatter

MAX_WIDTH = 100
"""Maximum width of a line, in characters."""
MAX_NAME_WIDTH = 26
"""Maximum width of the column of names; a longer name gets a separate line."""
EXPERT = "Expert options"
"""Heading of the options that only ``--help-all`` shows."""


class HelpPage(HelpFormatter):
    """A help page; headings are bold on a terminal."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self._write_lines(f"{prefix or 'Usage: '}{prog} {args}", "", "    ")

    def write_heading(self, heading: str) -> None:
        self.write(typer.style(f"{heading}:", bold=True) + "\n")

    def write_text(self, text: str) -> None:
        indent = " " * self.current_indent
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            self._write_lines(" ".join(paragraph.split()), indent, indent)

    def write_dl(
        self, rows: Sequence[tuple[str, str]], col_max: int = MAX_NAME_WIDTH, col_spacing: int = 2
    ) -> None:
        indent = " " * self.current_indent
        column = min(max((len(name) for name, _ in rows), default=0), col_max) + col_spacing
        for name, description in rows:
            first, rest = f"{indent}{name}", " " * (len(indent) + column)
            if len(name) + col_spacing <= column:
                first = first.ljust(len(rest))
            else:
                self.write(f"{first}\n")
                first = rest
            self._write_lines(" ".join(description.split()), first, rest)

    def _write_lines(self, text: str, first: str, rest: str) -> None:
        lines = textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=rest,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        self.write("\n".join(lines or [first.rstrip()]) + "\n")
