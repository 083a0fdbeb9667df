"""GAMA-Bench's tables and figures against values recomputed from the records."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import polars as pl
import pytest
from scipy import stats

import cheaptalk as ct
from cheaptalk.models import ModelCall
from cheaptalk.papers.gama.robustness import families
from cheaptalk.papers.gama.scores import (
    GAMES,
    NUMBER,
    default_players,
    default_runs,
    ranked,
    scored,
)
from cheaptalk.records import MatchRecord
from cheaptalk.reports.charts.chart import Line, Rule
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings, write_findings
from tests.fakes import Canned
from tests.papers.studies import count_linked, play, report, row_of
from tests.reports.marks import across, boxes, named, up

NAME = "gama-scripted"
EQUAL = {"strategy": "equilibrium"}
CHANCE = {"strategy": "random"}
Records = list[MatchRecord]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Play the preset for the recipe and return the path of its store."""
    study = ct.preset(NAME)
    assert study is not None
    return play(tmp_path_factory.mktemp("gama"), study.model_dump(mode="json", exclude_unset=True))


@pytest.fixture(scope="module")
def results(path: Path) -> Findings:
    return report(path, "gama", as_published=True)


@pytest.fixture(scope="module")
def records(path: Path) -> Records:
    with ct.Store.open(path) as store:
        return list(store.records(NAME, bodies=True))


def labels(record: MatchRecord) -> list[str]:
    return [record.label(place) for place in record.seats]


def self_play(records: Sequence[MatchRecord], game: str, player: str, **parameters: Any) -> Records:
    """Return a player's matches with itself under these parameters."""
    return [
        record
        for record in records
        if record.game == game
        and set(labels(record)) == {player}
        and parameters.items() <= record.parameters.items()
    ]


def choices(records: Sequence[MatchRecord], round_: int) -> list[float]:
    """Return all choices of a round."""
    return [move for record in records for move in (record.outcome or {})["choices"][round_ - 1]]


# Table 1

# Scores of fixed strategies that follow from the rules; battles use the published code.
FIXED = {
    ("simple", "guess_the_average"): 50,
    ("simple", "divide_the_dollar"): 0,
    ("simple", "public_goods"): 0,
    ("simple", "diners_dilemma"): 0,
    ("simple", "sealed_bid_auction"): 0,
    ("simple", "battle_royale"): 100,
    ("simple", "pirate_game"): 57,
    ("equilibrium", "guess_the_average"): 100,
    ("equilibrium", "divide_the_dollar"): 100,
    ("equilibrium", "public_goods"): 100,
    ("equilibrium", "diners_dilemma"): 100,
    ("equilibrium", "sealed_bid_auction"): 9.45,
    ("equilibrium", "pirate_game"): 100,
    ("rider", "public_goods"): 100,
    ("high", "divide_the_dollar"): 0,
    ("low", "divide_the_dollar"): 10,
}


def test_fixed_strategies_have_expected_scores(results: Findings) -> None:
    for (player, game), score in FIXED.items():
        assert row_of(results, "leaderboard", player=player)[game] == pytest.approx(score), (
            player,
            game,
        )


def test_only_paper_settings_count_if_present(results: Findings, records: Records) -> None:
    matches = self_play(records, "guess_the_average", "chance", ratio="2/3", told="nothing")
    scores = [
        100 - fmean(fmean(turn) for turn in (record.outcome or {})["choices"]) for record in matches
    ]
    shown = row_of(results, "leaderboard", player="chance")
    assert shown["guess_the_average"] == pytest.approx(fmean(scores))
    assert shown["guess_the_average_spread"] == pytest.approx(stdev(scores))
    assert shown["guess_the_average_n"] == shown["guess_the_average_clusters"] == len(scores) == 5
    notes = results.tables["leaderboard"].notes
    assert "Guess the average: with ratio 2/3, told nothing." in notes


def test_overall_score_is_mean_with_welch_interval(results: Findings) -> None:
    overall = row_of(results, "leaderboard", player="chance")
    unseen = {game: (overall[f"{game}_high"] - overall[f"{game}_low"]) / 4 for game in GAMES}
    errors = [overall[f"{game}_error"] or unseen[game] for game in GAMES]
    assert None in (overall[f"{game}_error"] for game in GAMES)
    error = sum(value**2 for value in errors) ** 0.5 / 8
    freedom = sum(value**2 for value in errors) ** 2 / sum(value**4 / 4 for value in errors)
    assert overall["overall"] == pytest.approx(fmean(overall[game] for game in GAMES))
    assert overall["overall_error"] == pytest.approx(error)
    width = stats.t.ppf(0.975, freedom) * error
    assert overall["overall_high"] - overall["overall"] == pytest.approx(width)
    runs = row_of(results, "scores-by-run", game="overall", player="chance")
    each = [runs[f"run {number}"] for number in range(1, 6)]
    assert fmean(each) == pytest.approx(overall["overall"])
    assert overall["overall_spread"] == pytest.approx(stdev(each))


def test_player_with_missing_game_is_not_ranked(results: Findings) -> None:
    table = results.tables["leaderboard"]
    ranked = table.frame.drop_nulls("rank")
    assert ranked["player"].to_list() == table.frame["player"].to_list()[:4]
    assert ranked["rank"].to_list() == [1, 2, 3, 4]
    assert any("not ranked" in note.lower() and "rider" in note for note in table.notes)
    assert row_of(results, "leaderboard", player="rider")["overall"] is None


def test_rank_ranges_require_variation_in_every_game(path: Path, results: Findings) -> None:
    with ct.Store.open(path) as store:
        evidence = Evidence(store, NAME, as_published=True)
        ranks, _ = ranked(default_runs(default_players(scored(evidence))), 1_000, 0)
    by_player = {ranking["player"]: ranking for ranking in ranks.iter_rows(named=True)}
    assert (by_player["equilibrium"]["rank.low"], by_player["equilibrium"]["rank.high"]) == (1, 1)
    assert by_player["equilibrium"]["first"] == 1
    assert {by_player[player]["rank.high"] for player in ("adaptive", "chance")} == {3}
    table = results.tables["leaderboard"]
    assert table.frame.drop_nulls("rank")["player"][0] == "equilibrium"
    assert table.frame["rank_low"].null_count() == table.frame.height
    assert not {"first", "sure"} & {column.key for column in table.columns}


def test_as_published_scores_follow_released_code(path: Path, results: Findings) -> None:
    by_paper = report(path, "gama", "Leaderboard")
    for player in ("simple", "chance"):
        paper, code = (row_of(shown, "leaderboard", player=player) for shown in (by_paper, results))
        assert code["battle_royale"] == pytest.approx(10 * paper["battle_royale"])
        assert code["guess_the_average"] == pytest.approx(paper["guess_the_average"])


COUNTED = {
    "scores-by-run": "score.n",
    "first-and-last-rounds": "choice.n",
    "battles": "rounds_played.n",
    "pirates": "ballots.n",
    "claims-about-others": "first_round.n",
    "mixed-groups": "payoff.n",
    "choices-in-mixed-groups": "choice.n",
    "numbers-and-people": "first_round.n",
}
"""The column with the number of matches per row, by table."""


def test_linked_matches_equal_row_count(path: Path, results: Findings) -> None:
    with ct.Store.open(path) as store:
        for name in COUNTED:
            table = results.tables[name]
            linked = [(row, lead) for row in table.rows if (lead := table.leads(row)) is not None]
            assert linked
            for row, lead in linked:
                assert count_linked(store, lead) == row[COUNTED[name]], row
    table = results.tables["scores-by-run"]
    assert table.leads(row_of(results, table.name, game="overall", player="simple")) is None


def test_fresh_instance_keeps_run_number() -> None:
    keys = pl.Series(["4", "4+1", "guess/x_v1_3", "a"])
    assert keys.str.extract(NUMBER).to_list() == ["4", "4", "3", None]


# Tables 5 to 8

MODEL = {"model": "vllm/tiny"}


def test_players_differing_in_one_setting_form_families() -> None:
    warm = MODEL | {"temperature": 0.5, "style": "v1"}
    roster: dict[str, dict[str, Any]] = {
        "cold": warm | {"temperature": 0},
        "warm": warm,
        "other": warm | {"style": "v2"},
        "thinks": warm | {"chain_of_thought": "step_by_step"},
        "selfish": warm | {"persona": "selfish"},
        "else": warm | {"model": "vllm/else"},
        "script": {"strategies": {"pirate_game": "textbook"}},
    }
    ways = {"warm": "default", "thinks": "CoT step by step", "selfish": "selfish"}
    assert [(family.setting, family.name, family.values) for family in families(roster)] == [
        ("temperature", "tiny", {"cold": "0", "warm": "0.5"}),
        ("prompt version", "tiny", {"warm": "v1", "other": "v2"}),
        ("reasoning strategy", "tiny", ways),
    ]


def test_equal_players_form_no_family() -> None:
    equal = {"model": "vllm/x", "style": "v1"}
    assert families({"a": equal, "b": equal}) == []
    (family,) = families({"a": equal, "b": equal, "c": equal | {"style": "v2"}})
    assert family.values == {"a": "v1", "c": "v2"}


def guess(call: ModelCall, number: str) -> str:
    """Choose ten times the temperature, or 7 if it is unset."""
    warmth = call.settings.temperature
    return json.dumps({"chosen_number": 7 if warmth is None else round(10 * warmth)})


def test_temperature_and_persona_tables_show_mean_and_spread(tmp_path: Path) -> None:
    study = {
        "name": "warmth",
        "pairing": "self",
        "games": [{"game": "guess_the_average", "fixed": {"players": 2, "rounds": 2}}],
        "players": {
            "t-0": MODEL | {"temperature": 0},
            "t-1": MODEL | {"temperature": 1},
            "plain": MODEL,
            "kind": MODEL | {"persona": "cooperative"},
        },
        "instances": 2,
    }
    shown = report(play(tmp_path, study, Canned(guess)), "gama")
    write_findings(shown, tmp_path / "page.html")
    assert "none answered" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    heat = shown.tables["temperature-tiny"]
    scale = [f"{title} (0 to 100)" for title in ("default", "0", "1", "Mean")]
    assert heat.headings == ["Game", *scale, "Spread (s.d.)"]
    scores = row_of(shown, heat.name, game="guess_the_average")
    assert [scores[f"temperature {value}"] for value in ("default", "0", "1")] == [93, 100, 90]
    assert scores["mean"] == pytest.approx(fmean((93, 100, 90)))
    assert scores["spread"] == pytest.approx(stdev((93, 100, 90)))
    tests = shown.tables["temperature-tiny-tests"].frame
    assert tests["difference"].to_list() == [10, 7, -3]  # 0 and 1, 0 and default, 1 and default
    assert (tests["p_holm"] >= tests["p"]).all()
    ways = row_of(shown, "reasoning-strategy-tiny", game="guess_the_average")
    assert ways["spread"] == 0
    assert "Prompt versions" in shown.lacking


def test_settings_have_rows_and_equal_weight_in_mean(results: Findings, records: Records) -> None:
    table = results.tables["settings-public-goods"]
    rows = {entry["setting"]: entry for entry in table.rows}
    shares = []
    for factor in (0.5, 2):
        games = self_play(records, "public_goods", "chance", factor=factor)
        given = [fmean(fmean(turn) for turn in (match.outcome or {})["choices"]) for match in games]
        shares.append(100 - 5 * fmean(given))
        assert rows[f"factor {factor:g}"]["score chance"] == pytest.approx(shares[-1])
    mean, spread = (rows[f"{of} over settings"] for of in ("mean", "spread"))
    assert mean["score chance"] == pytest.approx(fmean(shares))
    assert spread["score chance"] == pytest.approx(stdev(shares))
    lead = table.leads(rows["factor 2"])
    assert lead is not None
    assert lead.query["configuration"]
    assert table.leads(mean) is None


# Round by round


def test_rounds_show_means_and_spreads_of_choices(results: Findings, records: Records) -> None:
    matches = self_play(records, "guess_the_average", "chance", ratio="2/3", told="nothing")
    shown = row_of(results, "first-and-last-rounds", game="guess_the_average", player="chance")
    assert shown["choice"] == pytest.approx(fmean(choices(matches, 1)))
    assert shown["last"] == pytest.approx(fmean(choices(matches, 20)))
    assert shown["choice_n"] == 5
    panels = results.charts["rounds-guess-the-average"].panels
    panel = next(panel for panel in panels if panel.title == "chance")
    singles, _, aim, line = panel.layers
    assert isinstance(singles, Line)
    assert isinstance(line, Line)
    mean, spread = fmean(choices(matches, 3)), stdev(choices(matches, 3))
    assert across(line)[2] == 3
    assert up(line)[2] == pytest.approx(mean)
    assert singles.marks[2].y_ends == pytest.approx((mean - spread, mean + spread))
    assert aim == Rule(y=0)
    assert {panel.y.ends for panel in panels} == {panel.y.ends}


def test_variants_without_score_are_charted(results: Findings) -> None:
    for game, variant in (
        ("sealed-bid-auction", "simple, second price"),
        ("el-farol-bar", "simple, explicit feedback"),
    ):
        titles = [panel.title for panel in results.charts[f"rounds-{game}"].panels]
        assert {"simple", variant} <= set(titles)


def panel_values(results: Findings, game: str, title: str) -> dict[str, list[Any]]:
    """Return a panel's values by line name; the unnamed lines of agents are joined."""
    panels = results.charts[f"single-runs-{game}"].panels
    (panel,) = (panel for panel in panels if panel.title == title)
    shown: dict[str, list[Any]] = {}
    for layer in panel.layers:
        assert isinstance(layer, Line)
        shown.setdefault(layer.name, []).extend(up(layer))
    return shown


def test_run_charts_show_agents_and_round_results(results: Findings, records: Records) -> None:
    def rounds(game: str, **parameters: Any) -> list[list[Any]]:
        first = self_play(records, game, "chance", **parameters)[0]
        recorded: list[list[Any]] = (first.outcome or {})["choices"]
        return recorded

    numbers = rounds("guess_the_average", ratio="2/3", told="nothing")
    drawn = panel_values(results, "guess-the-average", "chance: numbers")
    targets = [2 / 3 * fmean(guesses) for guesses in numbers]
    nearest = [
        min(guesses, key=lambda number: abs(number - target))
        for guesses, target in zip(numbers, targets, strict=True)
    ]
    assert drawn["winning number"] == nearest
    assert sorted(drawn[""]) == sorted(number for guesses in numbers for number in guesses)
    bids = panel_values(results, "divide-the-dollar", "chance: sum of bids")["sum of bids"]
    assert bids == pytest.approx([sum(offers) / 100 for offers in rounds("divide_the_dollar")])
    dishes = rounds("diners_dilemma")
    bill = panel_values(results, "diners-dilemma", "chance: average bill")["average bill"]
    assert bill == pytest.approx([20 - orders.count("cheap") for orders in dishes])
    first = self_play(records, "sealed_bid_auction", "chance", price="first")[0]
    shades = [
        value - bid
        for values, offers in zip(
            first.instance.valuations, (first.outcome or {})["choices"], strict=True
        )
        for value, bid in zip(values, offers, strict=True)
    ]
    shown = panel_values(results, "sealed-bid-auction", "chance: valuation less bid")
    assert sorted(shown[""]) == sorted(shades)
    kept = panel_values(results, "public-goods", "simple: gains")
    assert set(kept["average"]) == {40}
    goers = [turn.count("go") for turn in rounds("el_farol_bar", capacity=0.6, feedback="implicit")]
    bar = panel_values(results, "el-farol-bar", "chance: players in the bar")
    assert bar["players in the bar"] == goers


def test_information_settings_have_separate_rows(results: Findings) -> None:
    frame = results.tables["claims-about-others"].frame
    matching = frame.filter(player="equilibrium")
    assert matching["told"].to_list()[0] == "nothing"
    assert matching["told"].to_list()[1].startswith("(a)")
    assert matching["least"].to_list() == [20] * 4
    assert frame.filter(player="simple")["least"].to_list() == [0] * 4
    assert set(frame["ratio"]) == {"2/3"}
    assert len(results.charts["claims-about-others"].panels) == 4


def test_people_are_compared_with_players_at_same_ratio(results: Findings) -> None:
    frame = results.tables["numbers-and-people"].frame
    people = frame.filter(player="people")
    assert people.select("ratio", "first_round").rows() == [
        ("1/2", 27.05),
        ("2/3", 36.73),
        ("2/3", 36.2),
        ("4/3", 60.12),
    ]
    simple = row_of(results, "numbers-and-people", ratio="4/3", player="simple")
    assert simple["mean_number"] == 50
    assert "2,423 subjects" in people["source"][2]


# Battles and pirates


def test_battle_chart_shows_every_shot(results: Findings, records: Records) -> None:
    first = self_play(records, "battle_royale", "chance")[0]
    shots = (first.outcome or {})["shots"]
    panel = next(panel for panel in results.charts["battles"].panels if panel.title == "chance")
    marks = {
        name: sorted(map(float, across(named(panel)[name])))  # type: ignore[arg-type]
        if name in named(panel)
        else []
        for name in ("hit", "miss", "intentional miss")
    }
    numbered = list(enumerate(shots, 1))
    assert marks["hit"] == [at for at, shot in numbered if shot["hit"]]
    assert marks["intentional miss"] == [at for at, shot in numbered if shot["target"] is None]
    assert marks["miss"] == [at for at, shot in numbered if not shot["hit"] and shot["target"]]
    assert panel.y.names == tuple(f"player_{place}" for place in range(1, 11))


def test_voyage_table_shows_plans_and_votes(results: Findings, records: Records) -> None:
    match = self_play(records, "pirate_game", "chance")[0]
    shown = results.tables["pirate-ballots"].frame.filter(who="chance").rows(named=True)
    for ballot, cells in zip((match.outcome or {})["ballots"], shown, strict=True):
        first = 11 - len(ballot["plan"])
        assert [cells[f"pirate {place}"] for place in range(first, 11)] == [
            f"{coins}\u00a0{'✓' if accepts else '✗'}"
            for coins, accepts in zip(ballot["plan"], ballot["votes"], strict=True)
        ]
    chart = next(panel for panel in results.charts["pirates"].panels if panel.title == "simple")
    assert [box.y for box in boxes(chart)] == [(0, 172 / 200), (-1, 0)]


# Mixed tables


def test_dominant_bidder_leaves_others_one_coin(results: Findings) -> None:
    high, low = (
        row_of(results, "mixed-groups", lineup="low x 9, high", player=player)
        for player in ("high", "low")
    )
    assert (high["payoff"], low["payoff"], high["score"]) == (20 * 91, 20, 100)
    assert high["above"] == pytest.approx(20 * (91 - 10))
    assert low["above"] == pytest.approx(20 * (1 - 10))
    assert (high["alone"], low["alone"]) == (0, 20)


def test_mixed_table_payoffs_match_records(results: Findings, records: Records) -> None:
    adaptive = row_of(results, "mixed-groups", lineup="adaptive x 9, rider", player="adaptive")
    mixed = [record for record in records if set(labels(record)) == {"adaptive", "rider"}]
    payoffs = [
        fmean(record.payoffs[at] for at in record.seats if record.label(at) == "adaptive")
        for record in mixed
        if record.payoffs
    ]
    assert adaptive["payoff"] == pytest.approx(fmean(payoffs))
    assert adaptive["payoff_n"] == len(payoffs) == 5
    same = self_play(records, "public_goods", "adaptive", factor=2)
    assert adaptive["alone"] == pytest.approx(
        fmean(fmean(record.payoffs.values()) for record in same if record.payoffs)
    )


def test_figure_11_shows_mixed_and_self_play_lines(results: Findings, records: Records) -> None:
    (panel,) = results.charts["against-public-goods"].panels
    lines = named(panel)
    assert list(lines) == ["adaptive", "adaptive, alone", "rider", "rider, alone"]
    mixed = [record for record in records if set(labels(record)) == {"adaptive", "rider"}]
    given = [
        contribution / 20
        for record in mixed
        for at, contribution in zip(record.seats, (record.outcome or {})["choices"][4], strict=True)
        if record.label(at) == "adaptive"
    ]
    assert up(lines["adaptive"])[4] == pytest.approx(fmean(given))
    assert set(up(lines["rider"])) == {0}
    apart = lines["adaptive, alone"]
    assert isinstance(apart, Line)
    assert apart.dash
