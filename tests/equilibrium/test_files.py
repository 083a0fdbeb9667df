from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cheaptalk.equilibrium.solvers.payoff_files import (
    PayoffFileError,
    PayoffTable,
    number,
    read_payoffs,
    write_payoffs,
)

PAYOFF_FORM = """NFG 1 R "A game" { "Ann" "Bob" }

{ { "top" "mid" "a \\"b\\"" }
{ "left" "right" }
}
"What Gambit's users say of it { } 1 2"

1 -2  .5 4  5. 6e0
1/3 8 +9 10 11 12
"""
OUTCOME_FORM = """NFG 1 D "" { "1" "2" } { 2 2 }
{
{ "both win" 3, 1/2 }
{ "" 2.5 -1 }
}
1 0
2 1
"""
LIST = "row,column,payoff\na,a,3\na,b,0\nb,a,5\nb,b,1\n"
MATRIX = ",a,b\na,3,0\nb,5,1\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_payoff_form_lists_row_strategies_first(tmp_path: Path) -> None:
    table = read_payoffs(write(tmp_path, "game.nfg", PAYOFF_FORM))
    assert (table.title, table.players) == ("A game", ("Ann", "Bob"))
    assert table.rows == ("top", "mid", 'a "b"')
    assert table.columns == ("left", "right")
    np.testing.assert_array_equal(table.a, [[1, 1 / 3], [0.5, 9], [5, 11]])
    np.testing.assert_array_equal(table.b, [[-2, 8], [4, 10], [6, 12]])
    assert not table.symmetric


def test_outcome_zero_has_no_payoffs(tmp_path: Path) -> None:
    table = read_payoffs(write(tmp_path, "game.nfg", OUTCOME_FORM))
    assert table.rows == table.columns == ("1", "2")
    np.testing.assert_array_equal(table.a, [[3, 2.5], [0, 3]])
    np.testing.assert_array_equal(table.b, [[0.5, -1], [0, 0.5]])


def test_gambit_reads_the_same_payoffs(tmp_path: Path) -> None:
    for text in [
        PAYOFF_FORM.replace("5. 6e0", "5.25 6").replace("+9", "9"),
        OUTCOME_FORM.replace("1 0\n2 1", "1 2\n2 1"),  # its arrays have no null outcomes
    ]:
        pytest.importorskip("pygambit")
        oracle: Any = import_module("pygambit")
        path = write(tmp_path, "game.nfg", text)
        table = read_payoffs(path)
        write_payoffs(table, tmp_path / "again.nfg")
        for file in (path, tmp_path / "again.nfg"):
            game = oracle.read_nfg(str(file))
            assert [player.label for player in game.players] == list(table.players)
            for player, names in zip(game.players, (table.rows, table.columns), strict=True):
                assert [strategy.label for strategy in player.strategies] == list(names)
            for payoffs, array in zip(game.to_arrays(float), (table.a, table.b), strict=True):
                np.testing.assert_allclose(payoffs.astype(float), array, rtol=1e-15)


def test_csv_lists_and_matrices_are_symmetric_games(tmp_path: Path) -> None:
    for text in [LIST, MATRIX, "\ufeff" + MATRIX, ",b,a\na,0,3\nb,1,5\n\n,,\n"]:
        table = read_payoffs(write(tmp_path, "game.csv", text))
        assert table.symmetric
        assert table.rows == ("a", "b")
        np.testing.assert_array_equal(table.a, [[3, 0], [5, 1]])


def test_unusable_numbers_are_rejected() -> None:
    assert number("-$1,000,000", "") == -1_000_000
    for message, texts in {
        "is ambiguous": ("1.234,50", "1,234", "$1,234", "12,5", "1 234", "1'234", "1,23.4"),
        "not a number": ("NaN", "inf", "12%", "1_000", "1/0", "x", "($5)", "٣", "0x1", "--1"),
        "too large a number; the maximum size is 1e": ("1e999", "-1e308"),
        "too small a number; the minimum size is 1e-300; multiply": ("-5e-324",),
    }.items():
        for text in texts:
            with pytest.raises(PayoffFileError, match=message):
                number(text, "somewhere")


NFG = 'NFG 1 R "t" { "A" "B" } '
BAD = {
    "empty.csv": ("", "expected a heading and lines of payoffs"),
    "semicolons.csv": (";a;b\na;1;2\nb;3;4\n", "separated by commas"),
    "wide.csv": (",a,b\na,1,234.50,2\nb,1,2\n", "line 2: there are 4 cells but the heading has 3"),
    "short row.csv": (",a,b\na,1,2\nb,3\n", 'line 3, "b": no payoff under "b"'),
    "short line.csv": ("row,column,payoff\na,a\n", 'line 2, "a": no payoff under "payoff"'),
    "long cell.csv": (",a\na," + "1" * 200_000 + "\n", "line 2: a cell has more than 131,072 char"),
    "minus.csv": (",a,b\na,1,\u22122\nb,3,4\n", 'line 2, "a" against "b": .* write minus as -'),
    "quote.csv": (',a\n"a,1\n', "line 2: unexpected end of data"),
    "missing column.csv": (",a\na,1\nb,2\n", '"b" has no column'),
    "missing row.csv": (",a,b\na,1,2\n", '"b" has no row'),
    "twice.csv": (",a,a\na,1,2\na,3,4\n", 'line 1: the strategy "a" is repeated'),
    "nameless.csv": (",a,\na,1,2\nb,1,2\n", "line 1: strategy 2 has no name"),
    "hole.csv": (",a,b\na,1,\nb,3,4\n", 'line 2, "a" against "b": the cell is empty'),
    "unplayed.csv": (",a,b\na,1,2\nb,,\n", 'line 3: the strategy "b" has no payoffs'),
    "comma.csv": (',a,b\na,1,"1.234,50"\nb,3,4\n', 'line 2, "a" against "b": "1.234,50" is'),
    "list hole.csv": (LIST.replace("b,a,5\n", ""), 'no payoff of "b" against "a"'),
    "list twice.csv": (LIST + "a,a,2\n", 'line 6, "a" against "a": this cell is repeated'),
    "list name.csv": (LIST + ",a,2\n", "line 6: row strategy 1 has no name"),
    "two roles.csv": (
        "row,column,payoff,other\nx,p,1,2\ny,q,3,4\n",
        'no payoff of "x" against "q"',
    ),
    "no nfg.nfg": ("1,2,3\n", "does not begin with"),
    "title.nfg": ("NFG 1 R untitled", "line 1: the title must be in double quotes here"),
    "three.nfg": ('NFG 1 R "" { "A" "B" "C" }', "3 players; it must have two"),
    "one side.nfg": (NFG + '{ { "a" } }', '"{" is expected here'),
    "no strategy.nfg": (NFG + '{ { } { "a" } }', "there is no strategy"),
    "same.nfg": (NFG + '{ { "a" "a" } { "b" } } 1 2 3 4', 'strategy "a" is repeated'),
    "open.nfg": (NFG + '{ { "a', "must be in double quotes here"),
    "counts.nfg": (NFG + "{ 2 x }", 'from 1 to 10,000, not "x"'),
    "short.nfg": (
        NFG + "{ 1 2 }\n1 2\n3",
        'line 3: the second player\'s payoff of "1" against "2"',
    ),
    "long.nfg": (NFG + "{ 1 1 } 1 2\n3", 'line 2: unexpected text after .* found "3"'),
    "outcome.nfg": (NFG + '{ 1 1 } { { "o" 1 2 } } 2', "from 0 to 1, not"),
    "outcome payoff.nfg": (
        NFG + '{ 1 1 } { { "o" 1 } } 1',
        'second player\'s payoff of outcome 1 "o"',
    ),
    "game.txt": (MATRIX, "end in .nfg or .csv"),
}


def test_invalid_files_are_reported_with_line_and_cell(tmp_path: Path) -> None:
    for name in BAD:
        text, message = BAD[name]
        path = write(tmp_path, name, text)
        with pytest.raises(PayoffFileError, match=message) as error:
            read_payoffs(path)
        assert name in str(error.value)
        assert "\n" not in str(error.value)


def test_unreadable_files_raise_error(tmp_path: Path) -> None:
    with pytest.raises(PayoffFileError, match="No such file"):
        read_payoffs(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(",caf\xe9\ncaf\xe9,1\n".encode("latin-1"))
    with pytest.raises(PayoffFileError, match="not UTF-8"):
        read_payoffs(tmp_path / "latin.csv")
    table = read_payoffs(write(tmp_path, "game.csv", MATRIX))
    with pytest.raises(PayoffFileError, match=r"end in .nfg or .csv"):
        write_payoffs(table, tmp_path / "game.txt")
    write_payoffs(table, tmp_path / "new" / "game.csv")
    assert (tmp_path / "new" / "game.csv").read_text() == MATRIX  # integers without decimals
    with pytest.raises(PayoffFileError, match=r"game\.csv"):
        write_payoffs(table, tmp_path / "latin.csv" / "game.csv")


LETTERS = st.characters(exclude_categories=["C", "Z"]) | st.sampled_from("=+-@'")
NAMES = st.lists(st.text(LETTERS, min_size=1, max_size=8), min_size=1, max_size=4, unique=True)
NUMBERS = st.floats(-1e300, 1e300).filter(lambda value: value == 0 or abs(value) >= 1e-300)


@given(st.data())
def test_payoff_tables_round_trip(tmp_path_factory: Any, data: st.DataObject) -> None:
    rows = tuple(data.draw(NAMES))
    columns = tuple(data.draw(st.sampled_from([list(rows), data.draw(NAMES)])))
    shape = len(rows), len(columns)
    a = data.draw(arrays(float, shape, elements=NUMBERS))
    b = a.T if rows == columns else data.draw(arrays(float, shape, elements=NUMBERS))
    table = PayoffTable(rows, columns, a, b)
    folder = tmp_path_factory.mktemp("written")
    for name in ("game.nfg", "game.csv"):
        write_payoffs(table, folder / name)
        loaded = read_payoffs(folder / name)
        assert (loaded.rows, loaded.columns) == (rows, columns)
        np.testing.assert_array_equal(loaded.a, a)
        np.testing.assert_array_equal(loaded.b, b)
