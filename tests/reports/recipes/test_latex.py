"""LaTeX tables fit on a page, whatever their content."""

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from cheaptalk.reports.recipes.exports import latex
from cheaptalk.reports.recipes.tables import Header, ReportTable

PAGE = r"""\documentclass{article}
\usepackage{booktabs,longtable,array,amssymb}
\usepackage[T1]{fontenc}
\begin{document}
%s
\end{document}
"""


def table_of(
    columns: int, rows: int = 3, *, text: str = "model", spread: bool = True
) -> ReportTable:
    """Return rows with numbers and intervals in pairs of columns under a heading."""
    names = [f"x{place}" for place in range(columns)]
    frame = pl.DataFrame({"who": [f"{text} {row}" for row in range(rows)]}).with_columns(
        *(pl.lit(1234.5 + place).alias(name) for place, name in enumerate(names)),
        *(pl.lit(1000.25).alias(f"{name}.low") for name in names),
        *(pl.lit(1500.75).alias(f"{name}.high") for name in names),
    )
    headers = [
        Header(name, f"Effect {place}", "points", 2, group=f"Family {place // 2}", spread=spread)
        for place, name in enumerate(names)
    ]
    return ReportTable("effects", "Effects", frame, (Header("who", "Model"), *headers))


ODD = pl.DataFrame(
    {
        "100%_of #1 & $x^2$": ["a_b|c\n\nd", r"{\e}~[1]", None],
        "inf": [float("inf"), float("-inf"), float("nan")],
        "p_value": [1e-300, 0.5, None],
        "nothing": [None, float("nan"), None],
        "flag": [True, False, None],
        "list": [[0.5], [], None],
        "json": ['{"alice_gain":5000.0,"bob_gain":5000.0,"message":"Half for each."}'] * 3,
        "when": pl.Series([datetime(2026, 1, 1, tzinfo=UTC), None, None]),
    }
)


def test_missing_and_infinite_numbers_are_written() -> None:
    written = latex(ODD, r"my_{label}%")
    assert "nan" not in written
    assert "nothing" not in written, "it has no values"
    assert r"\label{tab:my_-label--}" in written
    assert r"a\_b\textbar{}c  d & $\infty$ & $< 0.001$ & yes" in written
    assert r"{[}1] & $-\infty$ & $0.5$ & no" in written


def test_panels_have_similar_widths() -> None:
    frame = pl.DataFrame({"name": ["a" * 12]} | {f"column_{n:02}": [1234.5] for n in range(12)})
    panels = re.findall(r"\\begin\{tabular\}\{(\w+)\}", latex(frame))
    lengths = [len(panel) for panel in panels]
    assert len(panels) > 1
    assert max(lengths) - min(lengths) <= 1


def test_headings_numbers_and_panels_are_written() -> None:
    lines = latex(table_of(4, spread=False)).splitlines()
    assert r" & \multicolumn{2}{c}{Family 0} & \multicolumn{2}{c}{Family 1} \\" in lines
    assert r"\cmidrule(lr){2-3}" in lines
    assert r"\cmidrule(lr){4-5}" in lines

    frame = pl.DataFrame(
        {"who": ["a"], "x": [-0.5], "x.bold": [True], "x.stars": ["**"], "x.error": [0.25]}
    )
    table = ReportTable("t", "T", frame, (Header("who", "Who"), Header("x", "X", decimals=2)))
    assert r"a & $\mathbf{-0.50}$$^{**}$ ($0.25$) \\" in latex(table)
    apart = Header("x", "X", decimals=2, spread=False)
    assert r"a & $\mathbf{-0.50}$$^{**}$ \\" in latex(
        ReportTable("t", "T", frame, (Header("who", "Who"), apart))
    )

    written = latex(table_of(12))
    panels = re.findall(r"\\begin\{tabular\}.*?\\end\{tabular\}", written, re.DOTALL)
    assert len(panels) > 1
    assert all("model 1 & " in panel for panel in panels)
    over = [name for panel in panels for name in re.findall(r"\{c\}\{(Family \d)\}", panel)]
    assert over == [f"Family {place}" for place in range(6)]


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no LaTeX")
@pytest.mark.parametrize(
    "table",
    [
        table_of(2),
        table_of(12),
        table_of(12, 60),
        table_of(3, text="a long name of a model, " * 4),
        ODD,
        pl.concat([ODD] * 20),
    ],
    ids=["narrow", "wide", "wide and long", "long names", "odd", "odd and long"],
)
def test_no_table_exceeds_the_page_width(table: ReportTable | pl.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "page.tex").write_text(PAGE % latex(table))
    for _ in range(2):  # long tables get their widths in the second run
        made = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"],  # noqa: S607
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert made.returncode == 0, made.stdout[-1500:]
    assert "Overfull \\hbox" not in made.stdout
