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
        ["ours", "0.25 (0.20)", "", ""],
        ["Llama", "", "1.00", "2.00"],
    ]


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
