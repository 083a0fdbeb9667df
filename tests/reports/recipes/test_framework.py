"""Framework of recipes: tables that print, export and link to matches, on one page."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.reports.charts.chart import Axis, Chart, Lead
from cheaptalk.reports.charts.kinds import columns
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.exports import write_figures, write_tables
from cheaptalk.reports.recipes.findings import Findings, findings, write_findings
from cheaptalk.reports.recipes.means import means, over_games
from cheaptalk.reports.recipes.parts import Charts, NoData, Recipe, RecipePart
from cheaptalk.reports.recipes.study_overview import PLAYED
from cheaptalk.reports.recipes.tables import Estimate, Header, ReportTable
from tests.conftest import Command
from tests.pages import Page
from tests.reports.browser import CAPTURE, Tab

NUMBERS = pl.DataFrame(
    {
        "player": ["a_b", "50%", "<b>"],
        "gain": [0.25, -1234.5, None],
        "gain.low": [0.125, None, None],
        "gain.high": [0.5, None, None],
        "gain.error": [None, 2.0, None],
        "gain.n": [3, 4, 0],
    }
)
COLUMNS = (Header("player", "Player"), Header("gain", "Gain", "% of the pie", 2, "What is won."))


def gains(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Gain of each player: ``won / played``."""
    yield ReportTable(
        "gains",
        "Gains & losses",
        NUMBERS,
        COLUMNS,
        "Of all matches.",
        ("Nobody else played.",),
        leads=lambda row: Lead("bargaining", {"player": "luck"}) if row["gain"] else None,
    )
    drawn = columns([(0, 1, "a"), (1, evidence.draws, "b")])
    yield Charts("bars", "Bars", [Chart("Bars", "units", [drawn])], "Two bars.")


def nothing(evidence: Evidence) -> Iterator[ReportTable]:
    """Data that no study has."""
    if evidence.draws:
        raise NoData("no match with a parrot; seat one with --player")
    yield from ()


RECIPE = Recipe(
    "toy",
    "toys",
    "A Paper on Toys (2026)",
    (PLAYED, RecipePart("Gains", "Table 7", gains), RecipePart("Parrots", "Figure 8", nothing)),
)


@pytest.fixture(scope="module")
def toy_findings(well: Path) -> Findings:
    with ct.Store.open(well) as store:
        return findings(store, "well", RECIPE)


@pytest.fixture(scope="module")
def page(well: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("toys") / "toys.html"
    with ct.Store.open(well) as store:
        write_findings(findings(store, "well", RECIPE), out)
    return out


def test_tables_print_numbers_with_cautions() -> None:
    for cell, text in [
        (Estimate(3.0, error=0.0), "constant"),
        (Estimate(3.0, 3.0, 3.0, error=0.0), "constant"),
        (Estimate(1.0, 0.74, 1.0, error=0.0, clusters=10), "at least 0.74 (10 of 10)"),
        (Estimate(3.0, error=0.25), "(0.25)"),
        (Estimate(3.0), ""),
    ]:
        assert cell.spread(2) == text

    printed = str(ReportTable("gains", "Gains", NUMBERS, COLUMNS))
    assert printed.split("\n") == [
        "Gains",
        "Player  Gain (% of the pie)",
        "a_b     0.25 0.12 to 0.50 †",
        "50%        -1,234.50 (2.00)",
        "<b>",
    ]

    cases: list[tuple[dict[str, Any], int | None]] = [
        ({"gain.clusters": 24}, 25),
        ({"gain.clusters": 25}, None),
        ({"gain.n": 24}, 25),
        ({"gain.n": 24, "gain.clusters": 30}, None),
        ({"gain.clusters": 3, "gain.wanted": 40}, 40),
        ({"gain.clusters": 3, "gain.wanted": None}, None),
    ]
    for known, few in cases:
        frame = (
            NUMBERS.head(1).drop("gain.n").with_columns(**{k: pl.lit(v) for k, v in known.items()})
        )
        table = ReportTable("gains", "Gains", frame, COLUMNS)
        assert table.cell(next(iter(table.rows)), COLUMNS[1]).wanted == few
        assert (f"{few:,} would suffice" in table.caution) if few else table.caution == ""

    frame = pl.DataFrame({"player": ["a"], "gain": [float("nan")]})
    with pytest.raises(
        ValueError, match="column gain of table gains has a number that is not finite"
    ):
        ReportTable("gains", "Gains", frame, COLUMNS)
    with pytest.raises(ValueError, match="table gains has no column gain"):
        ReportTable("gains", "Gains", frame.drop("gain"), COLUMNS)


def test_mean_over_games_needs_variation() -> None:
    rows = {
        "player": "a",
        "game": ["x"] * 3 + ["y"] * 3,
        "configuration": "c",
        "instance": [1, 2, 3] * 2,
        "score": [1.0] * 3 + [2.0] * 3,
    }
    pooled = over_games(means(pl.DataFrame(rows), ["score"], ["player", "game"]), "score")
    row = pooled.row(0, named=True)
    assert (row["score"], row["score.low"], row["score.high"]) == (1.5, None, None)

    rows = {
        "player": "a",
        "game": "x",
        "configuration": "c",
        "instance": range(6),
        "score": [1.0, 1.0, 2.0, 1.0, 9.0, 1.0],
    }
    by_game = means(pl.DataFrame(rows), ["score"], ["player", "game"])
    ends = ["score", "score.low", "score.high"]
    assert over_games(by_game, "score").select(ends).equals(by_game.select(ends))


def test_findings_and_page_name_missing_parts(
    well: Path, toy_findings: Findings, page: Path, tmp_path: Path
) -> None:
    assert list(toy_findings.tables) == ["played", "played-by-player", "gains"]
    assert list(toy_findings.charts) == ["bars"]
    assert toy_findings.lacking == {"Parrots": "no match with a parrot; seat one with --player"}
    gains = toy_findings.tables["gains"].frame
    assert gains.columns == [name.replace(".", "_") for name in NUMBERS.columns]
    assert gains.rows() == NUMBERS.rows()
    assert str(toy_findings).endswith("Parrots: no match with a parrot; seat one with --player")

    read = Page(page.read_text(encoding="utf-8"))
    text = page.read_text(encoding="utf-8")
    assert "no match with a parrot" in text
    assert "&lt;b&gt;" in text
    assert "<b></th>" not in text
    assert 'href="http://127.0.0.1:8642/studies/well/bargaining?player=luck"' in text
    assert read.text.count("Nobody else played.") == 1

    again = tmp_path / "again.html"
    with ct.Store.open(well) as store:
        write_findings(findings(store, "well", RECIPE), again)
    assert again.read_bytes() == page.read_bytes()


def test_played_table_counts_answers_messages_and_words(well: Path, toy_findings: Findings) -> None:
    tables = toy_findings.tables
    with ct.Store.open(well) as store:
        records = list(store.records("well", bodies=True))
    for row in tables["played"].rows:
        played = [record for record in records if record.game == row["game"]]
        actions = [answer.action for record in played for answer in record.answers if answer.action]
        texts = [action.get("message") or "" for action in actions]
        assert row["matches"] == len(played)
        assert row["answers"] == len(actions)
        assert row["messages"] == sum(bool(text.split()) for text in texts)
        assert row["words"] == sum(len(text.split()) for text in texts)
    by_game = (
        tables["played-by-player"].frame.group_by("game").agg(pl.col("answers", "words").sum())
    )
    for game, answers, words in by_game.iter_rows():
        game_row = tables["played"].frame.row(by_predicate=pl.col("game") == game, named=True)
        assert (answers, words) == (game_row["answers"], game_row["words"])


def test_too_few_draws_are_rejected(well: Path) -> None:
    with (
        ct.Store.open(well) as store,
        pytest.raises(ValueError, match="at least 100, not 5"),
    ):
        findings(store, "well", RECIPE, draws=5)


def test_tables_are_written_as_csv_and_latex(
    cheaptalk: Command, well: Path, tmp_path: Path
) -> None:
    options = ["--store", str(well), "--tables", str(tmp_path / "tables"), "--json"]
    done = cheaptalk("report", "well", "--recipe", "glee", *options)
    assert done.status == 0, done.err
    data = json.loads(done.out)
    assert data["recipe"] == "glee"
    written = pl.read_csv(tmp_path / "tables" / "played.csv")
    assert pl.DataFrame(data["tables"]["played"]).select(written.columns).equals(written)
    assert (
        r"Negotiation & $64$ & $216$ & $0$ & $0$"
        in (tmp_path / "tables" / "played.tex").read_text()
    )
    assert all(Path(file).is_file() for file in [data["report"], *data["files"]])


def test_csv_files_have_shown_columns_first(tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": ["=1+1", "-2.5", None, "[a]"], "gain": [-1.5, 0.0, 1.0, 2.0]})
    table = ReportTable("gains", "Gains", frame, (Header("who", "Who"),))
    for raw, first in ((False, "'=1+1"), (True, "=1+1")):
        text = write_tables({"gains": table}, tmp_path, raw_cells=raw)[0].read_text()
        assert text == f"who,gain\n{first},-1.5\n-2.5,0.0\n,1.0\n[a],2.0\n"
    assert "{[}a]" in (tmp_path / "gains.tex").read_text()

    for sum_ in (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1):
        frame = pl.DataFrame({"live": [0], "who": ["a"], "gain.low": [0.1], "gain": [sum_]})
        table = ReportTable("gains", "Gains", frame, (Header("who", "Who"), Header("gain", "Gain")))
        text = write_tables({"gains": table}, tmp_path)[0].read_text()
        assert text == "who,gain,gain_low,live\na,0.6,0.1,0\n"


def test_codebook_describes_the_columns(tmp_path: Path) -> None:
    gain = "gain gpt-4 (all)"
    frame = pl.DataFrame({"who": ["a"], gain: [1.5], f"{gain}.low": [1.0], f"{gain}.n": [3]})
    frame = frame.with_columns(pl.lit(2.0).alias("gain gpt-4 [all]"), games=7)
    columns = (
        Header("who", "Player"),
        Header(gain, "Gain", "points", 1, "The mean.", group="GPT-4"),
    )
    table = ReportTable("gains", "Gains", frame, columns, "By instance.", printed="Table 2")
    *_, last = write_tables({"gains": table}, tmp_path)
    gains = [f"gain_gpt_4_all{end}" for end in ("", "_low", "_n", "_2")]
    assert pl.read_csv(tmp_path / "gains.csv").columns == ["who", *gains, "games"]
    assert last == tmp_path / "codebook.csv"
    assert pl.read_csv(last).fill_null("").rows() == [
        ("gains", "", "Gains", "", "Table 2. By instance."),
        ("gains", "who", "Player", "", ""),
        ("gains", "gain_gpt_4_all", "GPT-4: Gain", "points", "The mean."),
        ("gains", gains[1], "GPT-4: Gain", "points", "Lower bound of the confidence interval."),
        ("gains", "gain_gpt_4_all_n", "GPT-4: Gain", "", "Number of observations."),
        ("gains", "gain_gpt_4_all_2", "", "", "Not shown in the table."),
        ("gains", "games", "", "", "Not shown in the table."),
    ]


def test_wrong_recipe_is_reported_and_nothing_is_written(
    cheaptalk: Command, well: Path, tmp_path: Path
) -> None:
    done = cheaptalk("report", "well", "--store", str(well), "--recipe", "gleee")
    assert done.status == 2
    assert 'no recipe "gleee" (did you mean "glee"?)' in done.said
    done = cheaptalk("report", "well", "--store", str(well), "--recipe", "chips")
    assert done.status == 2
    assert "well has no data for the recipe chips: " in done.said
    done = cheaptalk("report", "well", "--store", str(well), "--recipe-option", "x=1")
    assert (done.status, "requires --recipe" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_charts_are_written_as_svg_and_pdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = Chart("Bars & co", "units", [columns([(0, 1, "a")], name="<a>")], Axis("<x>"))
    charts = {"bars": Charts("bars", "Bars", [chart, chart, Chart("Empty", "", [])])}
    written = write_figures(charts, tmp_path / "new" / "figures")
    names = [f"bars-Bars-co{number}.{kind}" for number in ("", "-2") for kind in ("svg", "pdf")]
    assert [path.name for path in written] == names
    assert written[0].read_text(encoding="utf-8").startswith("<svg")
    assert written[1].read_bytes().startswith(b"%PDF-")
    monkeypatch.setattr("cheaptalk.reports.recipes.exports.find_spec", lambda name: None)
    assert [path.suffix for path in write_figures(charts, tmp_path)] == [".svg", ".svg"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ct.CheaptalkError, match=r"bars-Bars-co\.svg: cannot be written"):
        write_figures(charts, tmp_path / "file")


@pytest.mark.browser
async def test_browser_draws_exports_and_drills_down(page: Path, tab: Tab) -> None:
    await tab.visit(page.as_uri(), width=375)
    await tab.until("document.querySelector('.plot svg') !== null")
    assert await tab.run("document.documentElement.scrollWidth") == 375
    await tab.run(CAPTURE)
    table = "document.querySelector('[data-name=gains]')"
    await tab.run(f"{table}.querySelector('.csv').click()")
    await tab.until("saved.length === 1")
    head, first, *_ = (await tab.run("saved[0]")).removeprefix("\ufeff").split("\r\n")
    assert head == "Player,Gain mean,Gain low,Gain high,Gain error,Gain n"
    assert first == "a_b,0.25,0.125,0.5,,3"
    await tab.run(f"{table}.querySelector('.latex').click()")
    await tab.until("saved.length === 2")
    latex = await tab.run("saved[1]")
    assert r"\caption{Gains \& losses}" in latex
    assert r"a\_b & 0.25 [0.12, 0.50]$^\dagger$ \\" in latex
    assert r"50\% & -1,234.50 (2.00) \\" in latex
    await tab.run(f"{table}.querySelector('tbody a').focus()")
    await tab.press("Enter")
    reader = "document.getElementById('reader')"
    await tab.until(f"{reader}.open && {reader}.querySelectorAll('.turn').length > 1")
    assert "luck" in await tab.run(f"{reader}.querySelector('h2').textContent")
    await tab.press("Escape")
    await tab.until(f"!{reader}.open")
    await tab.run(f"{table}.querySelector('tbody td.number').click()")
    await tab.until(f"{reader}.open")  # a number links where its row's name does
    assert tab.complaints == []
    assert [url for url in tab.fetched[1:] if not url.startswith(("data:", "blob:"))] == []


@pytest.mark.browser
async def test_charts_are_saved_as_png_and_svg(page: Path, tab: Tab) -> None:
    await tab.visit(page.as_uri())
    await tab.until("document.querySelector('.plot svg') !== null")
    await tab.run(
        "{ window.links = []; HTMLAnchorElement.prototype.click = function () {"
        " links.push([this.download, this.href]); } }"
    )
    await tab.run("document.querySelectorAll('.save button').forEach((one) => one.click())")
    await tab.until("links.length === 2")
    links = dict(await tab.run("links"))
    assert sorted(links) == ["bars-Bars.png", "bars-Bars.svg"]
    assert links["bars-Bars.png"].startswith("data:image/png;base64,iVBOR")
    assert tab.complaints == []
