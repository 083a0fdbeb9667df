"""A paper's printed values next to computed values."""

from pathlib import Path

import polars as pl

from cheaptalk.papers import printed
from cheaptalk.papers.printed import beside
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.yaml_files import read_yaml


def test_printed_values_are_joined_by_row() -> None:
    frame = pl.DataFrame(
        {"model": ["gpt-4o", "ours"], "gain": [0.5, 0.25], "gain.error": [0.1, 0.2]}
    )
    table = ReportTable(
        "t", "T", frame, (Header("model", "Model"), Header("gain", "Gain", decimals=2))
    )
    values = pl.DataFrame(
        {
            "model": ["GPT 4o", "Llama", "of no gain"],
            "gain": [0.75, 1.0, None],
            "gain.low": [0.5, None, None],
            "gain.high": [1.0, None, None],
            "loss": [1, 2, None],
        }
    )
    both = beside(table, values)
    assert both.headings == ["Model", "Gain", "Gain, printed", "loss, printed"]
    assert [both.texts(row) for row in both.rows] == [
        ["gpt-4o", "0.50 (0.10)", "0.75 0.50 to 1.00", "1.00"],
        ["Llama", "", "1.00", "2.00"],
        ["ours", "0.25 (0.20)", "", ""],
    ]


def test_rows_follow_the_paper_and_others_come_last() -> None:
    rows = [("ours", "2"), ("b", "2"), ("a", "2"), ("a", "3"), ("b", "3")]
    frame = pl.DataFrame(
        [(game, name, 0.5) for name, game in rows], schema=["game", "name", "gain"], orient="row"
    )
    headers = (Header("game", "Game"), Header("name", "Name"), Header("gain", "Gain", decimals=1))
    values = pl.DataFrame(
        [(game, name, 1.0) for game in "23" for name in ("human", "a", "b")],
        schema=["game", "name", "gain"],
        orient="row",
    )
    both = beside(ReportTable("t", "T", frame, headers), values)
    assert both.frame.select("game", "name").rows() == [
        *(("2", name) for name in ("human", "a", "b", "ours")),
        *(("3", name) for name in ("human", "a", "b")),
    ]


def test_columns_found_only_in_the_paper_keep_their_place() -> None:
    frame = pl.DataFrame({"game": ["g"], "run 1": [0.5], "run 3": [0.25]})
    numbers = (Header(f"run {number}", number, decimals=2) for number in "13")
    table = ReportTable("t", "T", frame, (Header("game", "Game"), *numbers))
    values = pl.DataFrame({"game": ["g"], "run 0": 4.0, "run 1": 1.0, "run 2": 2.0, "run 3": 3.0})
    titles = ["0, printed", "1", "1, printed", "2, printed", "3", "3, printed"]
    assert beside(table, values).headings == ["Game", *titles]


def test_declared_layouts_are_complete() -> None:
    for file in Path(printed.__file__).parent.glob("*/tables.yaml"):
        for name, layout in read_yaml(file).items():
            assert {"title", "columns"} <= layout.keys(), name
            assert layout.keys() <= {"title", "caption", "printed", "counts", "columns"}, name
            for key, fields in layout["columns"].items():
                assert isinstance(key, str), f"{name}: put {key} in quotes"
                assert fields is None or isinstance(fields, str | list | dict), name


def test_printed_values_do_not_move_the_columns_of_files() -> None:
    frame = pl.DataFrame(
        {"model": ["a"], "gain": [0.5], "gain.error": [0.1], "loss": [0.25], "game": ["g"]}
    )
    numbers = (Header(key, key, decimals=2) for key in ("gain", "loss"))
    table = ReportTable("t", "T", frame, (Header("model", "Model"), *numbers))
    values = pl.DataFrame({"model": ["A"], "gain": [1.0], "gain.error": [0.2], "new": [3.0]})
    columns = table.data().columns
    assert columns == ["model", "gain", "gain_error", "loss", "game"]
    both = beside(table, values)
    assert both.data().columns == [
        *columns,
        "gain_printed",
        "gain_printed_error",
        "new_printed",
    ]
    assert both.frame.columns[: len(columns)] == columns
