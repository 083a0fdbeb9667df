"""How help is laid out: plain lines, at most 100 characters wide, that break between words only."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import typer
from typer._click.formatting import HelpFormatter

WIDEST = 100
"""Characters of a line, however wide the terminal is."""
NAMES = 26
"""Characters that a name may take beside its meaning; a longer one has the line for itself."""


class HelpPage(HelpFormatter):
    """A page of help; headings are bold on a terminal."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write how a command is called."""
        self._write_lines(f"{prefix or 'Usage: '}{prog} {args}", "", "    ")

    def write_heading(self, heading: str) -> None:
        """Write what stands above a list."""
        self.write(typer.style(f"{heading}:", bold=True) + "\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs."""
        indent = " " * self.current_indent
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            self._write_lines(" ".join(paragraph.split()), indent, indent)

    def write_dl(
        self, rows: Sequence[tuple[str, str]], col_max: int = NAMES, col_spacing: int = 2
    ) -> None:
        """Write names with their meanings beside them."""
        indent = " " * self.current_indent
        beside = min(max((len(name) for name, _ in rows), default=0), col_max) + col_spacing
        for name, meaning in rows:
            first, rest = f"{indent}{name}", " " * (len(indent) + beside)
            if len(name) + col_spacing <= beside:
                first = first.ljust(len(rest))
            else:
                self.write(f"{first}\n")
                first = rest
            self._write_lines(" ".join(meaning.split()), first, rest)

    def _write_lines(self, text: str, first: str, rest: str) -> None:
        lines = textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=rest,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        self.write("\n".join(lines or [first.rstrip()]) + "\n")
