"""The meta-game's tables against values recomputed from the records."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.papers.metagame.behaviour import circled
from cheaptalk.papers.metagame.landscape import providers
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings
from cheaptalk.reports.recipes.parts import Drawing
from cheaptalk.reports.recipes.tables import ReportTable
from tests.fakes import Canned
from tests.papers.studies import play, report, row_of

LANDSCAPE = "Strategic landscape"
STRATEGIES = ("tough", "soft", "walk", "aspire")
STUDY: dict[str, Any] = {
    "name": "table",
    "seed": 7,
    "games": [
        {
            "game": "item_bargaining",
            "fixed": {"quantities": [7, 4, 1]},
            "cases": [{"discount": 0.9, "rounds": 3}, {"discount": 0.98, "rounds": 5}],
        }
    ],
    "players": {name: {"strategies": {"item_bargaining": name}} for name in STRATEGIES},
    "instances": 10,
}
SINGLE = STUDY | {"name": "alone", "players": {"soft": STUDY["players"]["soft"]}, "instances": 1}


@pytest.fixture(scope="module")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = play(tmp_path_factory.mktemp("metagame"), STUDY)
    ct.run(ct.studies.parse_study(SINGLE, "here"), path)
    return path


@pytest.fixture(scope="module")
def results(store_path: Path) -> Findings:
    return report(store_path, "metagame", study="table", draws=200, seed=3)


def test_regret_and_mixture_match_bootstrap(store_path: Path, results: Findings) -> None:
    with ct.Store.open(store_path) as store:
        game = ct.equilibrium.EmpiricalGame.of_study(
            store, "table", where=pl.col("game_rounds") == 3
        )
    drawn = ct.equilibrium.bootstrap_equilibrium(game, draws=200, seed=3)
    regrets = drawn.against("regret")
    for at, label in enumerate(game.labels):
        shown = row_of(results, "BG4-strategies", strategy=label)
        assert shown["regret"] == pytest.approx(regrets[:, at].mean())
        assert shown["regret_error"] == pytest.approx(regrets[:, at].std(ddof=1))
        assert shown["share"] == pytest.approx(drawn.mixtures[:, at].mean())


def test_welfare_tables_show_both_normalisations(results: Findings) -> None:
    text = row_of(results, "BG4-welfare-as-normalised-in-the-text", strategy="walk")
    alone = row_of(
        results, "BG4-welfare-with-maxima-that-exclude-the-outside-options", strategy="walk"
    )
    assert text["NW"] == text["NW, undiscounted"]  # walking immediately incurs no discount
    assert text["NW+"] == 0.0
    assert text["EF1"] is None
    assert alone["UW, of allocations"] / text["UW"] == pytest.approx(844.49 / 806.08, rel=3e-3)
    assert alone["NW, of allocations"] / text["NW"] == pytest.approx(379.10 / 356.79, rel=3e-3)


def test_soft_accepts_all_low_offers_and_tough_none(results: Findings) -> None:
    for label, share in (("soft", 100.0), ("tough", 0.0)):
        offered = row_of(results, "low-acceptances-bad-offer-accepted", player=label)
        assert offered["vs tough"] == offered["vs others"] == share
        paper = row_of(results, "table-12", player=label)
        kinds = ("vs tough", "vs others")
        assert [paper[f"{of} {kind}"] for of in ("turn", "game") for kind in kinds] == [share] * 4
    for name in ("bad-acceptance-by-turn", "bad-acceptance"):
        assert row_of(results, f"low-acceptances-{name}", player="walk")["vs tough"] in (0.0, None)


def test_paper_tables_show_games_with_best_in_bold(results: Findings) -> None:
    table = results.tables["table-5"]
    assert table.frame["agent"].to_list() == ["aspire", "soft", "tough", "walk"]
    assert table.groups == [("", 1), ("BG4", 5), ("BG6", 5)]
    assert "BG6: \N{GREEK SMALL LETTER GAMMA} = 0.98, R = 5." in table.caption
    allocated = "welfare-with-maxima-that-exclude-the-outside-options"
    for agent in table.frame.iter_rows(named=True):
        for key, name, column in (
            ("regret", "strategies", "regret"),
            ("nw_error", "welfare-as-normalised-in-the-text", "NW_error"),
            ("uw", allocated, "UW, of allocations"),
        ):
            source = row_of(results, f"BG6-{name}", strategy=agent["agent"])
            assert agent[f"BG6 {key}"] == source[column]
    for key, best in (("regret", min), ("nw", max), ("nw_plus", max), ("ef1", max)):
        values = table.frame[f"BG6 {key}"].to_list()
        bold = table.frame[f"BG6 {key}_bold"].to_list()
        first = best(value for value in values if value is not None)
        assert bold == [value == first for value in values]
    assert "table-2" not in results.tables  # contains only language models


def test_selected_players_form_separate_game(store_path: Path) -> None:
    options = {"players": "soft,tough"}
    shown = report(store_path, "metagame", LANDSCAPE, study="table", options=options)
    table = shown.tables["table-5"].frame
    assert table["agent"].to_list() == ["soft", "tough"]
    assert table["BG4 regret"].min() == 0  # although neither is in the equilibrium of all four
    assert shown.tables["BG4-strategies"].frame.height == 4


def test_language_models_form_separate_game_without_baselines(tmp_path: Path) -> None:
    models = {"4o-c-4": {"model": "vllm/openai/4o"}, "o3-mini-c-0": {"model": "vllm/us/o3"}}
    players = models | {name: STUDY["players"][name] for name in ("soft", "tough")}
    study = STUDY | {"name": "both", "players": players, "instances": 2}
    path = play(tmp_path, study, Canned(lambda *_: '{"action": "WALK"}'))
    results = report(path, "metagame", LANDSCAPE, "Providers")
    assert results.tables["table-3"].frame["agent"].to_list() == ["4o-c-4", "o3-mini-c-0"]
    assert results.tables["table-3"].frame["BG4 regret"].to_list() == [0, 0]
    agents = ["4o-c-4", "o3-mini-c-0", "soft", "tough"]
    assert results.tables["table-5"].frame["agent"].to_list() == agents
    assert "equilibrium-BG4-only-language-models" in results.charts
    assert results.tables["table-14"].frame["provider"].to_list() == ["openai", "us"]


def test_table_1_counts_instances_of_pairs(results: Findings) -> None:
    """Ten instances of each of the ten pairs of four strategies, including self-pairs."""
    assert results.tables["table-1"].frame.select("class", "game", "settings", "total").rows() == [
        ("BGS", "BG4", 100, 200),
        ("BGS", "BG6", 100, None),
    ]


def test_printed_values_are_added_to_paper_tables(store_path: Path) -> None:
    """Walking has a printed UW of 75.0 and NW of 68.0; agents are in the paper's order."""
    options = {"printed": "beside"}
    shown = report(store_path, "metagame", LANDSCAPE, study="table", options=options)
    table = shown.tables["table-5"]
    assert "BG4 regret.printed" in [column.key for column in table.columns]
    walk = table.frame.row(by_predicate=pl.col("agent") == "walk", named=True)
    assert (walk["BG4 nw_printed"], walk["BG4 uw_printed"]) == (67.97, 75.03)
    agents = table.frame["agent"].to_list()
    assert agents[:2] == ["sonnet-3.7-c-5", "sonnet-3.7-c-6"]
    assert {*STRATEGIES} < {*agents[9:]}


def test_behaviour_table_matches_records(store_path: Path, results: Findings) -> None:
    with ct.Store.open(store_path) as store:
        records = list(store.records("table", bodies=True))
    payoffs, rounds, mistaken = [], [], list[float]()
    for record in records:
        for place in ("player_1", "player_2"):
            if record.label(place) == "aspire" and record.payoffs:
                payoffs.append(record.payoffs[place])
                rounds.append((record.outcome or {})["round"])
        if {record.label("player_1"), record.label("player_2")} == {"tough"}:
            game_spec = ct.get_game("item_bargaining")
            mistaken.append(game_spec.metrics["mistakes"].of(record.result()) or 0.0)
    shown = row_of(results, "behaviour", player="aspire")
    assert shown["own"] == pytest.approx(np.mean(payoffs))
    assert shown["rounds_played"] == pytest.approx(np.mean(rounds))
    agreed = sum(shown[f"rounds_{how}"] * shown[f"rounds_{how}_n"] for how in ("agreed", "walked"))
    assert agreed == pytest.approx(sum(rounds))
    assert shown["own_n"] == len(payoffs) == 2 * 10 * 8
    assert row_of(results, "mistakes", player="tough")["mistakes"] == pytest.approx(
        np.mean(mistaken)
    )
    pairs = results.tables["behaviour-by-opponent"].frame
    assert pairs.height == 16
    for never_negative in ("own_mistakes", "rounds_played", "utility_given"):
        assert all(low >= 0 for low in pairs[f"{never_negative}_low"].drop_nulls())


def test_single_player_has_tables_without_intervals(store_path: Path) -> None:
    results = report(store_path, "metagame", study="alone")
    assert results.tables["behaviour"].frame["own_low"].to_list()[0] is not None
    regret = results.tables["BG4-strategies"]
    assert regret.frame["regret"].to_list() == [0.0]
    assert regret.notes[0].startswith("There are no intervals")
    assert "uses the strategy tough" in results.tables["low-acceptances-bad-acceptance"].notes[0]


def test_provider_tables_group_players(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"tough": "us", "soft": "us", "walk": "them", "aspire": "them"}
    module = import_module("cheaptalk.papers.metagame.landscape")
    monkeypatch.setattr(module, "providers_of_models", lambda _: owners)
    with ct.Store.open(store_path) as store:
        shown = list(providers(Evidence(store, "table", draws=100)))
    printed = {part.name: part for part in shown if isinstance(part, ReportTable) and part.printed}
    plain = [part for part in shown if isinstance(part, ReportTable) and not part.printed]
    drawn = [part for part in shown if isinstance(part, Drawing)]
    assert len(drawn) == len(plain)
    assert [part.name for part in plain[:2]] == ["BG4-providers-mixtures", "BG4-providers-selected"]
    for table in plain:
        assert table.frame["provider"].to_list() == ["them", "us"]
        for rival in ("us", "them"):
            assert sum(table.frame[f"reply_{rival}"]) == pytest.approx(100)
    both = printed["table-14"].frame
    assert both["provider"].to_list() == ["them", "us"]
    assert [sum(both[f"reply {rival}"]) for rival in ("us", "them")] == pytest.approx([1, 1])


def test_circles_are_parsed_from_style() -> None:
    model = {"model": "openai/o3"}
    assert circled(model | {"style": "circle_4"}) == ("openai/o3", 4)
    assert circled(model | {"style": {"item_bargaining": "circle_0"}}) == ("openai/o3", 0)
    for spec in (model | {"style": "plain"}, model, {"strategy": "soft"}):
        assert circled(spec) is None


def test_welfare_of_walking_away_is_that_of_the_outside_options(
    store_path: Path, results: Findings
) -> None:
    shown = row_of(results, "walk", outside="1 to total")
    with ct.Store.open(store_path) as store:
        frame = ct.read_matches(store, "table")["item_bargaining"]
    frame = frame.filter(player_player_1="walk", player_player_2="walk")
    outside = frame.select("payoff_player_1", "payoff_player_2").to_numpy()
    assert shown["instances"] == len(outside) == 2 * STUDY["instances"]  # in two configurations
    rng = np.random.default_rng(12)
    values = rng.integers(1, 101, (100_000, 2, 3))
    utilitarian = (values.max(axis=1) * [7, 4, 1]).sum(axis=1).mean()
    assert shown["uw"] == pytest.approx(100 * outside.sum(axis=1).mean() / utilitarian, rel=0.005)
    assert shown["uw_printed"] == 75.03
    assert shown["nw"] < shown["uw"]
