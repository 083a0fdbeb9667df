"""Notebook output: one-line reprs, and HTML with escaped text."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.printing.printout import Printed
from cheaptalk.records.imports.importing import ImportSummary, Skipped
from cheaptalk.reports.charts.chart import Axis, Chart, Mark, Points

LABEL = "<script>alert('a & b')</script>"
MATRIX = [[0, 0, 0, 1], [0, 0, 3, 4], [9, 2, 5, 5], [0, 6, 5, 5]]
TEXT_TAGS = {"table", "tr", "th", "td", "p", "b", "pre", "br"}
CHART_TAGS = {"figure", "figcaption", "svg", "g", "title", "text", "line", "path", "rect", "circle"}


class Tags(HTMLParser):
    """Collects the tags of a page, and asserts that they are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: set[str] = set()
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.met.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """The objects that a notebook session displays."""
    game_spec = ct.get_game("bargaining")
    game = game_spec.rules()
    instance = game.draw_instance(ct.Chance("here"))
    players = {"alice": game_spec.strategies["linear"], "bob": game_spec.strategies["random"]}
    labelled = {LABEL: "equal_split", "chance": "random", "firm": "boulware"}
    study = ct.Study(name="seen", games=[{"game": "bargaining"}], players=labelled, instances=6)
    path: Path = tmp_path_factory.mktemp("notebook") / "seen.sqlite"
    with ct.Store.open(path, create=True) as store:
        laid, progress = ct.plan(study), ct.run(study, store)
        record = next(iter(store.records("seen", bodies=True)))
        frames = ct.frames.read_matches(store, "seen")
        frame = frames["bargaining"]
        base = {"pairing": f"{LABEL} / chance"}
        fit = ct.statistics.ols(frame, "self_gain_alice", ["pairing"], reference=base)
        played = ct.reports.Played.of(store, "seen")
        chart = Chart(
            LABEL, "points", [Points([Mark(1, "a"), Mark(2, "b")])], y=Axis(names=("a", "b"))
        )
        findings = ct.reports.findings(store, "seen", "metagame", draws=100)
        yield {
            "table": ct.play(game, instance, "here", players),
            "open table": ct.Table(game, instance, "here"),
            "box": game_spec,
            "registry": ct.reports.RECIPES,
            "study": study,
            "plan": laid,
            "matches": laid.matches,
            "match": laid.matches[0],
            "group": next(laid.matches.groups()),
            "progress": progress,
            "store": store,
            "record": record,
            "summary": store.study("seen"),
            "transcript": ct.records.transcript(record),
            "estimate": ct.studies.estimate(laid),
            "frames": frames,
            "regression": fit,
            "predicted": ct.statistics.predicted_means(fit, ["pairing"]),
            "ranks": ct.statistics.rank_ranges(frame, "self_gain_alice", "pairing", draws=100),
            "played": played,
            "analysis": ct.equilibrium.analyse(played.games()[0], draws=100),
            "findings": findings,
            "status": ct.studies.study_status(store, "seen"),
            "cost": ct.records.Cost(98, ct.models.Usage(input_tokens=40_000), 0.12),
            "report table": next(iter(findings.tables.values())),
            "chart": chart,
            "charts": ct.reports.Charts("gains", LABEL, [chart]),
            "correlation": ct.statistics.correlation(frame, "self_gain_alice", "self_gain_bob"),
            "pairwise": ct.statistics.pairwise_tests(
                frame, "rounds_played", "pairing", paired=False
            ),
            "permutation": ct.statistics.permutation_test([1, 2], [3, 5], paired=False),
            "tables": findings.tables,
            "recipe": findings.recipe,
            "symmetric": ct.equilibrium.symmetric_equilibria(MATRIX),
            "equilibrium": ct.equilibrium.symmetric_equilibria(MATRIX).mene,
            "profile": ct.equilibrium.pure_equilibria(MATRIX, MATRIX)[0],
            "payoffs": ct.equilibrium.PayoffTable(("a",), ("b",), np.eye(1), np.eye(1)),
            "bimatrix": ct.equilibrium.bimatrix_equilibria(MATRIX, MATRIX),
            "nash average": ct.equilibrium.nash_average(MATRIX),
            "sweep": ct.equilibrium.alpha_sweep(MATRIX, alphas=[0.1, 1.0]),
            "replicator": ct.equilibrium.replicator_dynamics(MATRIX, [[0.25] * 4] * 50),
            "tally": ct.equilibrium.tally(frame),
            "empirical": ct.equilibrium.EmpiricalGame.of_payoffs(MATRIX),
            "roster": ct.players.roster("glee"),
            "rubric": ct.judges.find_rubric(ct.judges.rubric_names()[0]),
            "exported": ct.export(store, "seen", path.parent / "exported"),
            "changes": ct.studies.changes(ct.studies.with_players(study, {"x": "linear"}), store),
            "imported": ImportSummary(3, skipped=[Skipped("one.json", "it has no moves")] * 99),
            "prices": ct.models.load_prices(),
            "metric": game_spec.metrics["efficiency"],
            "strategy": game_spec.strategies["linear"],
            "chat environment": ct.adapters.chat_environment("bargaining"),
            "agent server": ct.models.remote_agents.AgentServer(["mine"]),
        }


def test_reprs_are_short_and_informative(things: dict[str, object]) -> None:
    lines = {name: repr(thing) for name, thing in things.items()}
    assert [name for name, line in lines.items() if len(line) > 250 or "\n" in line] == []
    assert [name for name, line in lines.items() if " object at 0x" in line] == []
    assert lines["plan"] == "<Plan: seen, 54 matches>"
    assert lines["progress"] == "<Progress: 54 of 54 matches ended>"
    assert lines["open table"] == "<Table: bargaining, 0 answers, asks alice>"
    assert lines["frames"] == "<Frames: bargaining (54 rows)>"


def test_html_reprs_escape_text(things: dict[str, object]) -> None:
    shown = {
        name: thing._repr_html_() for name, thing in things.items() if hasattr(thing, "_repr_html_")
    }
    assert len(shown) >= 30
    for page in shown.values():
        assert Tags(page).met <= TEXT_TAGS | CHART_TAGS
    for name in ("plan", "record", "regression", "ranks", "charts"):
        assert "&lt;script&gt;alert(&#x27;a &amp; b&#x27;)" in shown[name]


def test_results_print_and_can_be_written(things: dict[str, object], tmp_path: Path) -> None:
    results = {name: thing for name, thing in things.items() if isinstance(thing, Printed)}
    assert len(results) >= 25
    for name, result in results.items():
        assert str(result) != repr(result), name
        printout, data = result.printout(), result.data()
        assert all(len(row) == len(printout.columns) for row in printout.rows), name
        result.to_csv(tmp_path / "x.csv")
        written = pl.read_csv(tmp_path / "x.csv", infer_schema=False)
        assert (written.width, written.height) == (len(data.columns), len(data.rows)), name
        assert r"\begin{tabular}" in ct.reports.latex(result) or not printout.rows, name
    with pytest.raises(ct.CheaptalkError, match="cannot be written: Is a directory"):
        results["plan"].to_csv(tmp_path)


def test_transcripts_print_observations_and_answers(things: dict[str, object]) -> None:
    text = str(things["transcript"])
    assert text.startswith("Alice observes\n  You are Alice. ")
    assert "\n\nAlice: request 0\n  Round 1.\n" in text
    assert '  Answer: {"alice_gain":' in text


def test_charts_are_saved_as_svg_and_pdf(things: dict[str, object], tmp_path: Path) -> None:
    chart = things["chart"]
    assert isinstance(chart, Chart)
    assert chart.save(tmp_path / "x.svg").read_text() == chart.svg()
    pdf = chart.save(tmp_path / "x.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Font\s", pdf)) == pdf.count(b"/FontFile2") == 1, (
        "it is embedded"
    )
    with pytest.raises(ct.CheaptalkError, match=r"x.png: a figure is an .svg or a .pdf file"):
        chart.save(tmp_path / "x.png")
    group = ct.reports.Charts("gains", "Gains", [chart, chart])
    pair = group.save(tmp_path / "y.svg", wide=True)
    assert pair[0].read_text() == chart.svg(wide=True)
    assert [path.name for path in pair] == ["y-1.svg", "y-2.svg"]


def test_a_kernel_shows_progress_and_short_errors(tmp_path: Path) -> None:
    nbformat, nbclient = (pytest.importorskip(name) for name in ("nbformat", "nbclient"))
    sources = (
        "import cheaptalk as ct",
        "study = ct.Study(name='x', games=[{'game': 'negotiation'}], players={'a': 'random'})",
        "ct.run(study, 'x.sqlite')",
        "ct.load_study('x.yaml')",
        "%tb",
    )
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, allow_errors=True, resources=where).execute()
    (shown, _), (error,), (traceback,) = (cell.outputs for cell in notebook.cells[2:])
    assert shown.data["text/plain"] == "1 of 1 match ended"
    assert '<progress value="1.0000" max="1">' in shown.data["text/html"]
    hint = "Run %tb to show the traceback."
    assert error.traceback == ["StudyError: x.yaml: file not found", hint]
    assert "in load_study" in "".join(traceback.traceback)
