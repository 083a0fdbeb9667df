"""GAMA-Bench's recipe on minimal studies: missing parts are explained."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.papers.gama.scores import GAMES
from cheaptalk.reports.recipes.exports import latex
from cheaptalk.reports.recipes.findings import Findings, write_findings
from tests.papers.studies import play, report, row_of
from tests.papers.test_gama import CHANCE, EQUAL, labels


def small(game: str) -> dict[str, Any]:
    """Return the smallest configuration of a game."""
    if game == "battle_royale":
        return {"game": game, "fixed": {"hit_rates": [0.3, 0.8]}}
    fixed = {"players": 2} if game == "pirate_game" else {"players": 2, "rounds": 1}
    return {"game": game, "fixed": fixed}


TINY = {"name": "small", "pairing": "self"}
BOTH = {"a": EQUAL, "b": CHANCE}
EACH = {"games": [*map(small, GAMES)], "players": BOTH}
SIZES = {"game": "public_goods", "fixed": {"rounds": 2}, "grid": {"players": [2, 3]}}
SECOND_PRICE = {"game": "sealed_bid_auction", "fixed": {"price": "second", "rounds": 2}}
SPECIALISTS = {
    "a": {"strategies": {"public_goods": "free_rider"}},
    "b": {"strategies": {"el_farol_bar": "capacity"}},
}
SMALL: dict[str, dict[str, Any]] = {
    "one match": {"games": [small("guess_the_average")], "players": {"a": EQUAL}},
    "one match a game": EACH,
    "every seating": {"games": [*map(small, [*GAMES][::2])], "players": BOTH, "pairing": "all"},
    "repeats of one instance": EACH | {"repeats": 3},
    "tables of two sizes": {"games": [SIZES], "players": BOTH, "pairing": "all", "instances": 2},
    "nobody plays all games": {
        "games": [small("public_goods"), small("el_farol_bar")],
        "players": SPECIALISTS,
    },
    "mixed tables": {"games": [small("public_goods")], "players": BOTH, "pairing": [["a", "b"]]},
    "a large crew": {
        "games": [{"game": "pirate_game", "fixed": {"players": 25}}],
        "players": {"b": CHANCE},
    },
    "second price": {"games": [SECOND_PRICE], "players": {"a": {"strategy": "truthful"}}},
}


@pytest.fixture(scope="module")
def by_case(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Findings]:
    """The findings on each small study."""
    folder, results = tmp_path_factory.mktemp("small"), {}
    for case, changes in SMALL.items():
        results[case] = report(play(folder / case, TINY, **changes), "gama")
        write_findings(results[case], folder / "page.html")
    return results


def test_small_studies_render_without_nan(by_case: dict[str, Findings]) -> None:
    for shown in by_case.values():
        assert all(latex(table) for table in shown.tables.values())
        assert "nan" not in str(shown).lower().split()
        titles = set(shown.lacking) | {part.part.title for part in shown.parts if part.shown}
        assert len(titles) == len(shown.parts)


def test_single_run_has_no_interval_or_spread(by_case: dict[str, Findings]) -> None:
    frame = by_case["one match a game"].tables["leaderboard"].frame
    assert frame["rank"].to_list() == [1, 2]
    for name in ("rank_low", "overall_low", "overall_error", "overall_spread", "pirate_game_low"):
        assert frame[name].null_count() == 2, name


def test_repeats_of_instance_form_one_cluster(by_case: dict[str, Findings]) -> None:
    tables = by_case["repeats of one instance"].tables
    scores = row_of(by_case["repeats of one instance"], "leaderboard", player="b")
    assert (scores["public_goods_n"], scores["public_goods_clusters"]) == (3, 1)
    assert scores["public_goods_low"] is None
    assert scores["public_goods_spread"] is not None
    assert "run 3" in tables["scores-by-run"].frame.columns


def test_missing_parts_explain_how_to_get_them(by_case: dict[str, Findings]) -> None:
    lacking = by_case["one match"].lacking
    assert "add a group" in lacking["Payoffs in mixed groups"]
    second = by_case["second price"]
    assert "no match with one player in all seats has a score" in second.lacking["Leaderboard"]
    assert "first-and-last-rounds" in second.tables
    crew = by_case["a large crew"].tables["pirate-ballots"]
    assert crew.notes == ("The first 20 of 25 pirates are shown.",)
    assert "pirate 25" in crew.frame.columns


def test_settings_outside_paper_have_equal_weight(tmp_path: Path) -> None:
    rates = [[0.1, 0.2, 0.3, 0.4, 0.5], [0.5, 0.6, 0.7, 0.8, 0.9]]
    study = TINY | {
        "games": [
            {"game": "battle_royale", "fixed": {"horizon": 4}, "grid": {"hit_rates": rates}},
            {"game": "guess_the_average", "fixed": {"players": 2, "rounds": 12, "maximum": 50}},
        ],
        "players": {"setting": CHANCE},
        "instances": 12,
    }
    shown = report(play(tmp_path, study), "gama")
    board = shown.tables["leaderboard"]
    assert "Battle royale: all 2 settings count equally." in board.notes
    assert any(
        note.startswith("The overall score is the mean of the games played.")
        for note in board.notes
    )
    assert board.frame["battle_royale_n"].to_list() == [24]
    settings = shown.tables["settings-battle-royale"].frame["setting"].to_list()
    assert settings[:2] == ["hit rates 0.1 to 0.5", "hit rates 0.5 to 0.9"]
    assert "guess the average from 0 to 100: no match" in shown.lacking["Comparison with people"]
    runs = shown.tables["scores-by-run"]
    assert runs.headings[-1] == "Run 10"
    assert "run 12" in runs.frame.columns
    assert runs.notes


def test_single_run_has_no_tests(tmp_path: Path) -> None:
    players = {
        f"goes-{p}": {"strategies": {"el_farol_bar": {"strategy": "random", "probability": p}}}
        for p in (0.2, 0.8)
    }
    study = TINY | {"games": [small("el_farol_bar")], "players": players}
    tables = report(play(tmp_path, study), "gama", "Other player settings").tables
    assert "strategies.el_farol_bar.probability-random" in tables
    assert "strategies.el_farol_bar.probability-random-tests" not in tables


def test_change_from_self_play_has_welch_interval(tmp_path: Path) -> None:
    goods = {"game": "public_goods", "fixed": {"players": 3, "rounds": 2}}
    study = TINY | {
        "games": [goods, goods | {"pairing": [{"b": 2, "a": 1}]}],
        "players": BOTH,
        "instances": 4,
    }
    path = play(tmp_path, study)
    with ct.Store.open(path) as store:
        every = list(store.records("small", bodies=True))
    results = report(path, "gama", "Choices in mixed groups")
    shown = row_of(results, "choices-in-mixed-groups", player="b")
    mixed, same = (
        [
            fmean(move / 20 for turn in (record.outcome or {})["choices"] for move in turn[:seats])
            for record in every
            if labels(record) == who
        ]
        for who, seats in ((["b", "b", "a"], 2), (["b"] * 3, 3))
    )
    test = stats.ttest_ind(mixed, same, equal_var=False).confidence_interval(0.95)
    assert shown["change"] == pytest.approx(fmean(mixed) - fmean(same))
    assert (shown["change_low"], shown["change_high"]) == pytest.approx((test.low, test.high))
    lead = results.tables["choices-in-mixed-groups"].leads(shown)
    assert lead is not None
    assert lead.query["player_player_3"] == "a"
