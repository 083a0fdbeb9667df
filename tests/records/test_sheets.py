"""Cells of exported tables: CSV text, column types, and missing values."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from cheaptalk.records.exports.columns import INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.records.exports.sheets import VALUES, Sheet, csv_line


@given(st.lists(st.text(), min_size=1))
def test_csv_round_trips(texts: list[str]) -> None:
    (row,) = csv.reader(io.StringIO(csv_line(texts, raw=True), newline=""), strict=True)
    assert row == texts


def test_formulas_are_escaped_unless_raw() -> None:
    for form in ("=1+1", "+1+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "-"):
        for raw, cell in ((False, f"'{form}"), (True, form)):
            (row,) = csv.reader(
                io.StringIO(csv_line([form, -2.5], raw=raw), newline=""), strict=True
            )
            assert row == [cell, "-2.5"]
    for number in ("-3.5", "+1", "-1e-7", "-inf"):
        assert csv_line([number]) == f'"{number}"\n'
    assert VALUES[TEXT]("a\ud83d") == "a\\ud83d"
    assert VALUES[JSON]({"a": "\ud83d"}) == '{"a": "\\ud83d"}'


NAN = float("nan")


def test_undefined_values_become_missing() -> None:
    for value, type_, cell in [
        (NAN, NUMBER, None),
        ([NAN, -float("inf"), 1.5], "JSON", "[null, null, 1.5]"),
    ]:
        assert VALUES[type_](value) == cell


def test_column_types_are_merged_across_games() -> None:
    def column(type_: str, game: str) -> Column:
        return Column("x", type_, "", "", lambda row: row.x, game=game)

    class Row:
        def __init__(self, game: str, x: object) -> None:
            self.game, self.x = game, x

    mixed = Sheet([column(INTEGER, "a"), column(NUMBER, "b")])
    assert mixed.types == {"x": NUMBER}
    assert mixed.row(Row("a", 1)) == [1.0]
    wide = Sheet([column(INTEGER, "a"), column(TEXT, "b")])
    assert wide.types == {"x": TEXT}
    assert [wide.row(Row("a", 1)), wide.row(Row("b", "1"))] == [["1"], ["1"]]
    assert Sheet([column(TEXT, "a")]).row(Row("b", "no column of its")) == [None]
