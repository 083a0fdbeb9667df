"""Statements about the papers' contents equal the facts in facts.yaml."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS
from cheaptalk.learning.presets import TRAININGS
from cheaptalk.papers import printed
from cheaptalk.players.rosters import roster_names
from cheaptalk.rules import games
from cheaptalk.studies import preset_names
from cheaptalk.yaml_files import read_yaml

INDEX = Path(__file__).parents[2] / "docs" / "reference" / "paper-index.md"
FACTS: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("facts.yaml"))
RECIPES = {"chips": "chips", "gama": "gama", "glee": "glee", "metagame": "metagame"}
RECIPES["self_play"] = "self-play"
PAPERS = pytest.mark.parametrize("paper", FACTS)
ELEMENTS = re.compile(
    r"\b(Table|Figure)s? (\d+(?:(?:,? and|,| to)? (?=\d)\d+|,? \(?(?:left|right)\)?)*)"
)
NUMBER = re.compile(r"(?<![\w.-])-?\d*\.?\d[\d,]*(?:\.\d+)?(?![\w])")
NAMES = re.compile(r"(?<!\[)\*([^*`]+)\*(?!\*)")
SPREADS = (".error", ".half", ".stars", " way")
"""Endings of columns that belong to the column before."""


class Row(NamedTuple):
    """A row of the index: the element of the paper, the parts in cheaptalk, and the checks."""

    element: str
    place: str
    checked: str

    @property
    def text(self) -> str:
        return " | ".join(self)


def rows_of(paper: str) -> list[Row]:
    heading = FACTS[paper]["index"]
    (section,) = re.findall(
        rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", INDEX.read_text("utf-8"), re.M | re.S
    )
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [Row(*(cell.strip() for cell in line[1:-1].split("|"))) for line in lines[1:]]


def elements_in(text: str) -> Iterator[str]:
    """Yield the tables and figures named in a text, such as "Figure 2 (left)"."""
    for kind, listed in ELEMENTS.findall(text):
        side = re.search(r"left|right", listed)
        ranges = re.findall(r"(\d+)(?: to (\d+))?", listed)
        for first, last in ranges:
            for number in range(int(first), int(last or first) + 1):
                yield f"{kind} {number}" + (f" ({side[0]})" if side and len(ranges) == 1 else "")


def elements_of(paper: str) -> list[str]:
    return [
        f"{kind} {key}"
        for kind, contents in (("Table", "tables"), ("Figure", "figures"))
        for key in FACTS[paper][contents]
    ]


def without_side(element: str) -> str:
    return element.partition(" (")[0]


def numbers_in(text: str) -> Counter[float]:
    return Counter(float(match.replace(",", "")) for match in NUMBER.findall(text))


def test_elements_are_read_from_text() -> None:
    read = list(elements_in("Tables 2 to 4, 15, Figure 2 (left), Figures 7, right, and 10: x"))
    assert read == [
        *("Table 2", "Table 3", "Table 4", "Table 15", "Figure 2 (left)", "Figure 7", "Figure 10")
    ]
    assert numbers_in("GPT-3.5: 1,320 of -.04, .44 and $12.24 (v1)") == Counter(
        [1320, -0.04, 0.44, 12.24]
    )


@PAPERS
def test_every_table_and_figure_has_one_row(paper: str) -> None:
    listed = Counter(
        element for row in rows_of(paper) for element in elements_in(row.element.partition(":")[0])
    )
    assert listed == Counter(elements_of(paper))
    for row in rows_of(paper):
        reproduced = NAMES.search(row.place) or "`" in row.place
        assert reproduced or re.match(r"not reproduced: \w", row.checked), row.element


@PAPERS
def test_numbers_in_the_index_are_the_papers(paper: str) -> None:
    stated: Mapping[str, list[float]] = FACTS[paper]["numbers"]
    rows = rows_of(paper)
    for beginning, numbers in stated.items():
        (row,) = [row for row in rows if re.match(rf"{re.escape(beginning)}(?!\w)", row.element)]
        assert Counter(map(float, numbers)) <= numbers_in(row.text), beginning
    for row in rows:
        facts = [
            number
            for name, listed in stated.items()
            if row.element.startswith(name)
            for number in listed
        ]
        content = row.element.partition(": ")[2]
        assert set(numbers_in(content)) <= set(map(float, facts)), row.element


@PAPERS
def test_parts_of_recipes_name_their_elements_as_the_index(paper: str) -> None:
    parts = {part.title: part for part in ct.reports.RECIPES[RECIPES[paper]].parts}
    rows_by_part: dict[str, set[str]] = {title: set() for title in parts}
    for row in rows_of(paper):
        named = NAMES.findall(row.place)
        assert set(named) <= parts.keys(), row.place
        reproduced = {without_side(element) for element in elements_in(row.element)}
        for title in named:
            rows_by_part[title] |= reproduced
        sources = {element for title in named for element in elements_in(parts[title].source)}
        if named:
            assert reproduced <= {without_side(element) for element in sources}, row.element
    known = set(map(without_side, elements_of(paper)))
    for title, part in parts.items():
        sources = set(map(without_side, elements_in(part.source)))
        assert sources <= known, title
        assert sources <= rows_by_part[title], title


@PAPERS
def test_named_tables_and_figures_exist(paper: str) -> None:
    text = INDEX.read_text("utf-8").partition(f"## {FACTS[paper]['index']}")[2]
    page = INDEX.parent / re.findall(r"\[Instructions\]\((\S+)\)", text)[0]
    folder = Path(printed.__file__).parent / paper
    known = set(map(without_side, elements_of(paper)))
    for file in (page, *folder.rglob("*.py"), *folder.rglob("*.yaml")):
        named = set(map(without_side, elements_in(file.read_text("utf-8"))))
        assert named <= known, file


def known_names() -> set[str]:
    """Return the names that the index can use for what cheaptalk contains."""
    names = {*preset_names(), *roster_names(), *ct.judges.RUBRICS, *TRAININGS, *games()}
    for game in map(ct.get_game, games()):
        names |= {*game.metrics, *game.styles, *game.strategies}
    for file in Path(printed.__file__).parent.glob("*/tables.yaml"):
        names |= read_yaml(file).keys()
    names |= {file.stem for file in Path(printed.__file__).parent.glob("*/printed/*.csv")}
    return names | {"payoff", "expected_rational_trades"}


@PAPERS
def test_names_in_the_index_exist(paper: str) -> None:
    known, commands = known_names(), set(COMMANDS)
    for row in rows_of(paper):
        for name in re.findall(r"`([^`]+)`", f"{row.place} {row.checked}"):
            words = name.removeprefix("cheaptalk ").split()
            is_command = words[0] in commands or name.startswith("--")
            assert is_command or name in known, name


@PAPERS
def test_printed_values_have_the_shape_of_their_tables(paper: str) -> None:
    shapes = {}
    for file in (Path(printed.__file__).parent / paper / "printed").glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as lines:
            header, *rows = list(csv.reader(lines))
        values = [
            name
            for name, cells in zip(header, zip(*rows, strict=True), strict=True)
            if not name.endswith(SPREADS) and re.fullmatch(r"[\d.,e+-]+", "".join(cells))
        ]
        shapes[file.stem] = [len(rows), len(values)]
    assert shapes == FACTS[paper]["printed"]


@PAPERS
def test_presets_plan_the_configurations_of_the_paper(paper: str) -> None:
    for name, counts in FACTS[paper]["presets"].items():
        planned = ct.plan(name)
        expected = {game: count for game, count in counts.items() if game != "matches"}
        assert planned.configurations() == expected, name
        assert len(planned.matches) == counts["matches"], name
