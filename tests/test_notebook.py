"""Notebook output: one-line reprs, and HTML with escaped text."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

import cheaptalk as ct

LABEL = "<script>alert('a & b')</script>"
MATRIX = [[0, 0, 0, 1], [0, 0, 3, 4], [9, 2, 5, 5], [0, 6, 5, 5]]


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
            "tables": findings.tables,
            "recipe": findings.recipe,
            "symmetric": ct.equilibrium.symmetric_equilibria(MATRIX),
            "bimatrix": ct.equilibrium.bimatrix_equilibria(MATRIX, MATRIX),
            "nash average": ct.equilibrium.nash_average(MATRIX),
            "sweep": ct.equilibrium.alpha_sweep(MATRIX, alphas=[0.1, 1.0]),
            "replicator": ct.equilibrium.replicator_dynamics(MATRIX, [[0.25] * 4] * 50),
            "tally": ct.equilibrium.tally(frame),
            "empirical": ct.equilibrium.EmpiricalGame.of_payoffs(MATRIX),
            "roster": ct.players.roster("glee"),
            "rubric": ct.judges.find_rubric(ct.judges.rubric_names()[0]),
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
    assert len(shown) >= 15
    for page in shown.values():
        assert Tags(page).met <= {"table", "caption", "tr", "th", "td", "p", "pre", "br"}
    for name in ("plan", "record", "regression", "ranks"):
        assert "&lt;script&gt;alert(&#x27;a &amp; b&#x27;)" in shown[name]
