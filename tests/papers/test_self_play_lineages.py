"""The self-play recipe on studies with two lineages of iterations."""

from pathlib import Path

import pytest

from cheaptalk.reports.recipes.findings import Findings
from tests.papers.studies import play, report, rows_of
from tests.papers.test_self_play import GAME
from tests.reports.marks import named


@pytest.fixture(scope="module")
def lineages(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Findings on two lineages under strict competition whose first iterations met."""
    spec = {
        "name": "two",
        "instances": 2,
        "games": [{"game": GAME, "fixed": {"objective": "comp"}}],
        "players": {
            "a-iteration-0": "honest",
            "a-iteration-1": "fair",
            "b-iteration-0": "conceding",
            "rival": "greedy",
        },
        "pairing": [
            ["a-iteration-0", "b-iteration-0"],
            *(
                pair
                for player in ("a-iteration-0", "a-iteration-1", "b-iteration-0")
                for pair in ([player, player], [player, "rival"])
            ),
        ],
    }
    path = play(tmp_path_factory.mktemp("lineages"), spec)
    return report(path, "self-play", "Scores", "Strict competition", "Cross-play")


def test_strict_competition_has_chart_per_opponent(lineages: Findings) -> None:
    score, agreement = (
        lineages.charts[f"competition-{of}-figure"].panels for of in ("score", "agreement")
    )
    assert [(panel.title, list(named(panel))) for panel in score] == [("Against rival", ["a", "b"])]
    assert [panel.title for panel in agreement] == ["Self-play", "Against rival"]


def test_other_lineages_do_not_count_as_other_players(lineages: Findings) -> None:
    met = {
        (row["player"], row["opponent"])
        for row in rows_of(lineages, "cross-play")
        if row["player"] != row["opponent"]
    }
    assert met == {("a-iteration-0", "b-iteration-0"), ("b-iteration-0", "a-iteration-0")}
    others = [row for row in rows_of(lineages, "scores") if row["series"].endswith("other players")]
    assert {row["own_n"] for row in others} == {2}


def test_lineages_have_separate_lines_and_uneven_counts_are_noted(tmp_path: Path) -> None:
    players = {
        f"{name}-iteration-{at}": {"strategy": "noisy", "contradicting": 0.1 * at + 0.01 * place}
        for place, name in enumerate(("a", "b"))
        for at in (0, 1)
    }
    games = [
        {"game": GAME, "pairing": "self"},
        {"game": GAME, "pairing": [["a-iteration-0"] * 2], "fixed": {"turns": 40}},
    ]
    spec = {"name": "two", "games": games, "players": players, "instances": 3}
    parts = ("Scores", "Before and after", "Vocabulary and entropy")
    results = report(play(tmp_path, spec), "self-play", *parts)
    drawn = named(results.charts["scores-figure"].panels[0])
    assert list(drawn) == ["a, self-play", "b, self-play"]
    assert [row["lineage"] for row in results.tables["before-after"].rows] == ["a", "b"] * 2
    assert "Lineage" in results.tables["before-after"].headings
    drawn = named(results.charts["entropy-figure"].panels[0])
    assert list(drawn) == [f"{name}, {n}" for n in ("words", "pairs", "triples") for name in "ab"]
    (note,) = results.tables["diversity"].notes
    assert "semi-competitive objective, some players have 3 matches and others up to 6" in note
