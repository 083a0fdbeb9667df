"""Parsed HTML pages: tables by name, links, scripts and text."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

Attributes = dict[str, str | None]
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Cell:
    """A table cell: its text, the text of its button, and its link."""

    attributes: Attributes
    text: str = ""
    button: str = ""
    link: str | None = None
    title: str | None = None

    def number(self, name: str = "data-v") -> float | None:
        written = self.attributes[name]
        return float(written) if written else None


Row = list[Cell]


@dataclass
class Page(HTMLParser):
    """A parsed page.

    Attributes:
        tables: rows of cells by table name, the heading first.
        elements: every element, as (tag, attributes).
        scripts: script elements, as (attributes, text).
        text: all text outside scripts and styles.
    """

    source: str
    tables: dict[str, list[Row]] = field(default_factory=dict)
    elements: list[tuple[str, Attributes]] = field(default_factory=list)
    scripts: list[tuple[Attributes, str]] = field(default_factory=list)
    text: str = ""
    open: list[str] = field(default_factory=list)
    name: str | None = None
    cell: Cell | None = None

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append((attributes, ""))
        elif "tabular" in (attributes.get("class") or "").split():
            self.name = attributes["data-name"] or ""
            self.tables[self.name] = []
        elif tag == "tr" and self.name:
            self.tables[self.name].append([])
        elif tag in ("td", "th") and self.name:
            self.cell = Cell(attributes)
            self.tables[self.name][-1].append(self.cell)
        elif tag == "a" and self.cell and self.cell.link is None:
            self.cell.link, self.cell.title = attributes["href"], attributes.get("title")

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.cell = None
        elif tag == "table":
            self.name = None

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif not self.open or self.open[-1] != "style":
            self.text += data
            if self.cell:
                self.cell.text += data
                self.cell.button += data if self.open[-1] == "button" else ""

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    def attributes(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.elements if name in attributes]

    def running(self) -> list[str]:
        """Return the scripts that a browser runs."""
        return [text for attributes, text in self.scripts if "type" not in attributes]

    def charts(self) -> list[str]:
        """Return all charts with their captions, in the wide version."""
        figures = [part.partition("</figure>")[0] for part in self.source.split("<figure")[1:]]
        plots = (figure for figure in figures if 'class="plot' in figure)
        return [plot.partition('class="plot slim"')[0] for plot in plots]

    def transcripts(self) -> list[dict[str, Any]]:
        """Return the sampled transcripts of a report."""
        (packed,) = [text for attrs, text in self.scripts if attrs.get("id") == "transcripts"]
        unpacked: list[dict[str, Any]] = json.loads(gzip.decompress(base64.b64decode(packed)))
        return unpacked

    def rows(self, table: str) -> list[dict[str, Cell]]:
        names = self.headings(table)
        body = (row for row in self.tables[table] if not any(cell.button for cell in row))
        return [dict(zip(names, row, strict=True)) for row in body]

    def headings(self, table: str) -> list[str]:
        return [cell.button for cell in self.tables[table][0]]
