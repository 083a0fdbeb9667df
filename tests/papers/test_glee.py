"""GLEE's tables and figures against recomputed numbers, and studies with too little data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.testing
import pytest

import cheaptalk as ct
from cheaptalk.equilibrium import model_choice
from cheaptalk.papers.glee import regressions
from cheaptalk.papers.glee.anchoring import first_offers
from cheaptalk.papers.glee.families import METRICS, ROLES, families
from cheaptalk.papers.glee.importer import read_glee
from cheaptalk.papers.glee.outcomes import reweighted
from cheaptalk.papers.glee.pairs import PlayerChoice, gains, notes_of, pairs_of
from cheaptalk.records import Store
from cheaptalk.records.imports import import_matches
from cheaptalk.records.store import parts
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.findings import Findings
from cheaptalk.text import capital
from tests.papers.glee_folders import write_all
from tests.papers.glee_study import FLASH, STUDY
from tests.papers.studies import play, report, row_of

GAMES = ("bargaining", "negotiation", "persuasion")
Frames = dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def frames(glee_store: Store) -> Frames:
    """Matches by game; the market and the pair are joined into one column each."""
    return {
        family.game: family.frame.with_columns(
            pl.concat_str(family.market, separator="|").alias("market"),
            pl.concat_str("Alice", "Bob", separator="|").alias("pair"),
        )
        for family in families(Evidence(glee_store, STUDY["name"]))
    }


OTHERS = {
    "bargaining": {"δ_A": "0.9", "δ_B": "0.9"},
    "negotiation": {"F_A": "1", "F_B": "1"},
    "persuasion": {"v": "1.25"},
}
MARKETS = {"bargaining": "yes|no|∞", "negotiation": "yes|1", "persuasion": "binary|no"}
PLAYERS = dict.fromkeys(ROLES.values(), FLASH)
ALL = (FLASH, "fair", "tough")
GAINS = "Players' gains"
EFFECTS = ("Effect of the market", GAINS, "Effects of pairs", "Effect of every parameter")


Effects = dict[tuple[str, str], tuple[dict[str, Any], ...]]
"""The classical and the clustered estimates of effects, by factor and level."""


def regress(frame: pl.DataFrame, outcome: str, reference: dict[str, str]) -> Effects:
    """Return the effects of all levels except the reference levels."""
    frame = frame.with_columns(pl.col(list(reference)).cast(pl.String))
    fits = [
        ct.statistics.ols(
            frame,
            outcome,
            list(reference),
            reference=reference,
            errors=errors,
            cluster=["configuration"],
        ).frame.filter(pl.col("level").is_not_null(), ~pl.col("reference"))
        for errors in ("classical", "cluster")
    ]
    rows = zip(*(fit.to_dicts() for fit in fits), strict=True)
    return {(row[0]["factor"], row[0]["level"]): row for row in rows}


def reference_regression(frames: Frames, game: str, metric: str) -> Effects:
    """Fit the regression of the paper."""
    return regress(frames[game], metric, {"market": MARKETS[game], **OTHERS[game], **PLAYERS})


def assert_effect(row: dict[str, Any], name: str, effects: tuple[dict[str, Any], ...]) -> None:
    """Assert that an effect and its intervals equal the reference, in percentage points."""
    for key, effect in zip((name, f"{name} clustered"), effects, strict=True):
        assert row[key] == pytest.approx(100 * effect["estimate"], abs=1e-6)
        for end in ("low", "high"):
            assert row[f"{key}_{end}"] == pytest.approx(100 * effect[end], rel=1e-6, abs=1e-6)


def test_market_effects_match_regression(glee_results: Findings, frames: Frames) -> None:
    for game in GAMES:
        table = glee_results.tables[f"market-{game}"]
        (market,) = (
            family.market for family in glee_results.evidence.once(families) if family.game == game
        )
        assert table.frame.height == frames[game]["market"].n_unique()
        for metric in ("efficiency", "fairness"):
            expected = reference_regression(frames, game, metric)
            for row in table.frame.iter_rows(named=True):
                level = "|".join(row[name] for name in market)
                if level == MARKETS[game]:
                    assert (row[metric], row[f"{metric}_low"]) == (0, None)
                else:
                    assert_effect(row, metric, expected["market", level])
        assert table.frame["efficiency"].is_sorted(descending=True)


def test_self_gains_match_regression(glee_results: Findings, frames: Frames) -> None:
    table = glee_results.tables["self-gain"]
    for game in GAMES:
        for role, title in ROLES.items():
            expected = reference_regression(frames, game, f"self_gain_{role}")
            for row in table.frame.iter_rows(named=True):
                if row["player"] != FLASH:
                    assert_effect(row, f"{game} {role}", expected[title, row["player"]])
    assert set(table.frame["kind"]) == {"script"}


def test_parameter_effects_match_regression(glee_results: Findings, frames: Frames) -> None:
    table = glee_results.tables["impact"].frame.filter(family="Bargaining", metric="Fairness")
    reference = {"CI": "yes", "MA": "no", "T": "∞", **OTHERS["bargaining"], **PLAYERS}
    expected = regress(frames["bargaining"], "fairness", reference)
    assert table.height == len(expected)
    for row in table.iter_rows(named=True):
        assert row["over"] == reference[row["parameter"]]
        assert_effect(row, "effect", expected[row["parameter"], row["level"]])


def pair_effects(game: str, metric: str, frame: pl.DataFrame) -> dict[str, float]:
    """Return the effect of each pair over the first, from the reference regression."""
    first = str(frame["pair"].min())
    effects = regress(frame, metric, {"market": MARKETS[game], **OTHERS[game], "pair": first})
    return {first: 0.0} | {
        level: row["estimate"] for (factor, level), (row, _) in effects.items() if factor == "pair"
    }


def test_pair_effects_are_relative_to_mean(glee_results: Findings, frames: Frames) -> None:
    for game in GAMES:
        table = glee_results.tables[f"pairs-{game}"].frame
        assert table.height == 9
        for metric in METRICS:
            effects = pair_effects(game, metric, frames[game])
            middle = sum(effects.values()) / len(effects)
            for row in table.iter_rows(named=True):
                expected = 100 * (effects[f"{row['Alice']}|{row['Bob']}"] - middle)
                assert row[metric] == pytest.approx(expected, abs=1e-6)
                assert row[f"{metric}_low"] < row[metric] < row[f"{metric}_high"]
            assert table[metric].sum() == pytest.approx(0, abs=1e-6)


def test_copies_are_compared_with_mixed_pairs(glee_results: Findings, frames: Frames) -> None:
    table = glee_results.tables["same-player"].frame
    assert table.height == 12
    for row in table.iter_rows(named=True):
        game = row["family"].lower()
        metric = next(key for key, title in METRICS.items() if capital(title) == row["metric"])
        effects = pair_effects(game, metric, frames[game])
        same = [of for pair, of in effects.items() if len(set(pair.split("|"))) == 1]
        different = [of for pair, of in effects.items() if len(set(pair.split("|"))) == 2]
        expected = 100 * (np.mean(same) - np.mean(different))
        assert row["difference"] == pytest.approx(expected, abs=1e-6)
        assert row["given"] == pytest.approx(expected, abs=1e-6)  # all players met
        assert 0 <= row["p"] <= row["corrected"] <= 1


def test_equilibria_are_pairs_without_regret(glee_results: Findings) -> None:
    rows = glee_results.tables["player-choice"].frame
    for game in GAMES:
        pairs = glee_results.tables[f"pairs-{game}"].frame
        gain = {
            (a, b): (x, y)
            for a, b, x, y in pairs.select(
                "Alice", "Bob", "self_gain_alice", "self_gain_bob"
            ).iter_rows()
        }
        names = sorted(set(pairs["Alice"]))
        regrets = {
            (a, b): (
                max(gain[other, b][0] for other in names) - gain[a, b][0],
                max(gain[a, other][1] for other in names) - gain[a, b][1],
            )
            for a, b in gain
        }
        listed = rows.filter(family=game.capitalize())
        stable = listed.filter(estimates="an equilibrium")
        assert set(stable.select("Alice", "Bob").iter_rows()) == {
            pair for pair, of in regrets.items() if max(of) < 1e-9
        }
        for row in listed.iter_rows(named=True):
            expected = regrets[row["Alice"], row["Bob"]]
            assert (row["regret_alice"], row["regret_bob"]) == pytest.approx(expected, abs=1e-6)
            assert 1 <= row["support"] <= 100


def test_parallel_workers_give_identical_results(
    glee_store: Store, glee_results: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "WORTH_WORKERS", 1)
    parallel = report(glee_store, "glee", "Overview", "Collected data", workers=2)
    for name, table in parallel.tables.items():
        pl.testing.assert_frame_equal(table.frame, glee_results.tables[name].frame)
    for game, frame in glee_results.evidence.frames.items():
        pl.testing.assert_frame_equal(parallel.evidence.frames[game], frame)


def test_bootstrap_spread_equals_clustered_errors(
    glee_store: Store, glee_results: Findings
) -> None:
    evidence, tables = Evidence(glee_store, STUDY["name"], draws=2_000), glee_results.tables
    for pairs in pairs_of(evidence):
        estimates, drawn = gains(pairs, evidence)
        for middle, draws, name in zip(estimates, drawn, ("alice", "bob"), strict=True):
            table = tables[f"pairs-{pairs.game}"].frame
            errors = table[f"self_gain_{name} clustered_error"].to_numpy()
            assert middle == pytest.approx(table[f"self_gain_{name}"].to_numpy(), abs=1e-6)
            assert draws.std(axis=0) == pytest.approx(errors, rel=0.15)


def test_reweighted_means_weight_configurations() -> None:
    matches = pl.DataFrame(
        {
            "who": ["x"] * 6 + ["y"] * 2,
            "configuration": ["a", "a", "a", "a", "b", "b", "a", "a"],
            "instance": ["1", "2", "3", "4", "1", "2", "1", "2"],
            "gain": [1.0, 2.0, 3.0, 4.0, 10.0, 20.0, 5.0, 7.0],
        }
    )
    means = reweighted(matches, ["gain"], ["who"], {"a": 1, "b": 3, "c": 1, "d": 0})
    x, y = means.iter_rows(named=True)
    assert x["gain"] == pytest.approx((1 * 2.5 + 3 * 15) / 4)
    variances = (np.var([1, 2, 3, 4], ddof=1) / 4, np.var([10, 20], ddof=1) / 2)
    assert x["gain.error"] == pytest.approx(((variances[0] + 9 * variances[1]) / 16) ** 0.5)
    assert (y["gain"], x["gain.covered"], y["gain.covered"]) == (6, 0.8, 0.2)
    clipped = reweighted(matches, ["gain"], ["who"], {"a": 1}, bounds={"gain": (2.4, 2.6)})
    most = pl.when(pl.col("instance") == "1").then(2.9).otherwise(2.5)
    columns = matches.with_columns(least=pl.lit(2.4), most=most)
    bounded = reweighted(columns, ["gain"], ["who"], {"a": 1}, bounds={"gain": ("least", "most")})
    assert bounded["gain.high"].to_list() == pytest.approx([2.6, 2.7])
    assert clipped.row(0, named=True)["gain.low"] == 2.4
    for weights in ({}, {"a": 0}, {"a": -1, "b": 2}):
        with pytest.raises(ValueError, match="weights of configurations"):
            reweighted(matches, ["gain"], ["who"], weights)


def test_equal_weights_are_supported(glee_results: Findings, frames: Frames) -> None:
    for game in GAMES:
        each = frames[game].group_by("configuration").agg(pl.col(*METRICS).mean())
        row = row_of(
            glee_results, "distributions", family=game.capitalize(), weights="equal weights"
        )
        for metric in METRICS:
            assert row[metric] == pytest.approx(each[metric].mean())
    inflation = row_of(glee_results, "distributions", weights="high inflation")
    low = frames["bargaining"].filter(pl.max_horizontal("^game_discounts_.*$") <= 0.9)
    assert inflation["efficiency_n"] == low.height
    assert inflation["efficiency"] == pytest.approx(low["efficiency"].mean())


def test_first_offers_are_correlated_with_gains(glee_store: Store, glee_results: Findings) -> None:
    records = list(
        glee_store.records(STUDY["name"], bodies=True, games=["bargaining", "negotiation"])
    )
    for row in glee_results.tables["anchoring"].frame.iter_rows(named=True):
        offers, gains_ = [], []
        for record in records:
            bobs = ("all", record.label("bob"))
            if record.game != row["family"].lower() or row["bob"] not in bobs:
                continue
            move, of = record.answers[0].action or {}, record.parameters
            scale = of["money" if record.game == "bargaining" else "scale"]
            first = move["alice_gain" if record.game == "bargaining" else "price"] / scale
            offers.append(first - of.get("seller_factor", 0))
            gains_.append((record.payoffs or {})["alice"] / scale)
        assert row["r_n"] == len(offers)
        if row["r"] is not None:
            assert row["r"] == pytest.approx(np.corrcoef(offers, gains_)[0, 1])
            assert row["r clustered_low"] < row["r"] < row["r clustered_high"]


def test_clustered_correlation_interval_matches_bootstrap(glee_results: Findings) -> None:
    offers = glee_results.evidence.once(first_offers).filter(game="bargaining")
    parts = [part for _, part in offers.group_by("configuration")]
    generator = np.random.default_rng(1)
    drawn = []
    for _ in range(1_000):
        sample = pl.concat([parts[at] for at in generator.integers(len(parts), size=len(parts))])
        drawn.append(np.corrcoef(sample["offer"], sample["gain"])[0, 1])
    row = glee_results.tables["anchoring"].frame.row(0, named=True)
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert row["r clustered_high"] - row["r clustered_low"] == pytest.approx(high - low, rel=0.2)


def test_reference_levels_follow_paper_if_available(glee_results: Findings) -> None:
    for family, parameter, column, expected in (
        ("Bargaining", "T", "reference", "∞"),
        ("Bargaining", "T", "paper", "∞"),
        ("Bargaining", "M", "reference", "one level only"),
        ("Negotiation", "F_A", "reference", "1"),
        ("Persuasion", "MT", "levels", "binary (108); text (108)"),
        ("Persuasion", "Bob", "reference", FLASH),
    ):
        row = row_of(glee_results, "references", family=family, parameter=parameter)
        assert row[column] == expected


def test_reference_levels_default_to_most_frequent(tmp_path: Path) -> None:
    games = [
        {
            "game": "bargaining",
            "grid": {"money": [100, 500, 500.5], "reminders": [True, False]},
            "fixed": {"horizon": 4},
        }
    ]
    players = {name: of for name, of in STUDY["players"].items() if name != FLASH}
    parts = ("Reference levels", "Effect of the market", "Players' gains")
    results = report(play(tmp_path, STUDY, games=games, players=players), "glee", *parts)
    rows = {row["parameter"]: row for row in results.tables["references"].rows}
    assert rows["M"]["reference"] == "100"
    assert rows["Alice"]["reference"] == "fair"
    assert "reminders varied and is not controlled for" in results.tables["references"].notes[0]
    assert "with two markets" in results.lacking["Effect of the market"]
    assert "Effects are relative to fair." in results.tables["self-gain"].caption
    assert results.tables["self-gain"].notes[-1].endswith("is not controlled for.")


def test_reference_option_changes_reference_player(glee_store: Store) -> None:
    options = {"reference": "tough"}
    table = report(glee_store, "glee", GAINS, options=options).tables["self-gain"]
    assert table.frame.filter(player="tough")["bargaining alice"].item() == 0
    assert "Effects are relative to tough." in table.caption
    with pytest.raises(ct.CheaptalkError, match='has no player "tuff"'):
        report(glee_store, "glee", GAINS, options={"reference": "tuff"})
    with pytest.raises(ct.CheaptalkError, match="no parameter with two terms is called"):
        report(glee_store, "glee", GAINS, options={"composite": "discount"})


def test_splits_option_adds_predictions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sklearn", "xgboost"):
        pytest.importorskip(module)
    learners = ("linear", "xgboost")  # a fit of CatBoost takes seconds
    monkeypatch.setattr(regressions, "LEARNERS", dict(zip(learners, learners, strict=True)))
    options = {"splits": "1", "printed": "beside"}
    games = [STUDY["games"][0] | {"grid": {"horizon": [2, 12], "messages": [True, False]}}]
    with Store.open(play(tmp_path, STUDY, games=games)) as store:
        results = report(store, "glee", "Predictions", options=options)
        (family,) = families(results.evidence)
        for wrong in ("0", "many", "-3"):
            with pytest.raises(ct.CheaptalkError, match=f"integer >= 1, not {wrong}"):
                report(store, "glee", "Predictions", options={"splits": wrong})
    table, printed = (results.tables[name].frame for name in ("predictions", "table-9"))
    assert table.height == 4
    for metric, row in zip(METRICS, table.iter_rows(named=True), strict=True):
        deviation = float(np.std(family.frame[metric].to_numpy(), ddof=1))
        for learner in learners:
            assert 0 <= row[learner] < 1.3 * deviation + 1e-9
            assert row[f"{learner}_n"] == 1
    order = ["Alice Self Gain", "Bob Self Gain", "Efficiency", "Fairness"]
    assert printed["metric"][:4].to_list() == order
    for column, of in (("xgboost", "xgboost"), ("xgboost_half", "xgboost_error")):
        assert printed[column][:4].to_list() == table[of].to_list()[2:] + table[of].to_list()[:2]
    assert printed.height == 12
    assert printed["catboost_printed"][8:].to_list() == [0.352, 0.840, 0.378, 0.371]


def analyse(
    folder: Path, game: dict[str, Any], *parts: str, players: Sequence[str] = ALL, **changed: Any
) -> Findings:
    """Play one game between some players and return the findings, or those of some parts."""
    chosen = {name: STUDY["players"][name] for name in players}
    path = play(folder, STUDY, games=[game], players=chosen, instances=1, **changed)
    return report(path, "glee", *parts)


def test_single_match_gives_means_and_explanations(tmp_path: Path) -> None:
    for name in GAMES:
        results = analyse(tmp_path / name, {"game": name}, players=["fair"], pairing="self")
        assert results.tables["outcomes"].frame["efficiency_n"].item() == 1
        assert results.tables["distributions"].frame["self_gain_alice_low"].is_null().all()
        assert set(results.lacking) >= {
            "Effect of the market",
            "Players' gains",
            "Effects of pairs",
            "Copies of a player",
            "Choice of players",
            "Effect of every parameter",
        }
    game = {"game": "negotiation", "grid": {"buyer_factor": [1, 1.5]}}
    results = analyse(tmp_path / "grid", game, players=[FLASH], pairing="self", repeats=3)
    assert "no role was played by two players" in results.lacking["Players' gains"]
    assert "only one pair met" in results.lacking["Effects of pairs"]
    assert set(results.tables["impact"].frame["parameter"]) == {"F_B"}


def test_single_configuration_has_no_clustered_intervals(tmp_path: Path) -> None:
    results = analyse(tmp_path, {"game": "negotiation"}, GAINS, repeats=4)
    frame = results.tables["self-gain"].frame
    assert frame["negotiation alice_low"].drop_nulls().len() == 2
    assert frame["negotiation alice clustered_low"].is_null().all()
    assert any("one cluster" in note for note in results.tables["self-gain"].notes)


def test_constant_outcomes_have_zero_effects_and_no_correlation(tmp_path: Path) -> None:
    game = {"game": "bargaining", "grid": {"complete_information": [True, False]}}
    even = {"one": "equal_split", "two": {"strategy": "fixed_demand", "share": 0.5}}
    players = {name: {"strategies": {"bargaining": of}} for name, of in even.items()}
    parts = ("Effect of the market", "Anchoring", "Choice of players")
    results = report(play(tmp_path, STUDY, games=[game], players=players), "glee", *parts)
    assert set(results.tables["market-bargaining"].frame["fairness"]) == {0}
    assert results.tables["anchoring"].frame["r"].is_null().all()
    assert results.tables["player-choice"].frame["support"].to_list() == [100.0] * 4


def test_confounded_factors_are_reported_and_others_estimated(tmp_path: Path) -> None:
    game = {
        "game": "bargaining",
        "grid": {"discounts": [[0.9, 0.9], [0.8, 1]], "messages": [True, False]},
    }
    results = analyse(tmp_path, game, *EFFECTS, repeats=3)
    impact = results.tables["impact"].frame
    assert set(impact["parameter"]) == {"MA", "Alice", "Bob"}
    assert impact["effect"].null_count() == 0
    assert results.tables["market-bargaining"].frame["efficiency"].null_count() == 0
    assert results.tables["self-gain"].frame.height == 3
    for name in ("impact", "market-bargaining", "self-gain", "pairs-bargaining"):
        assert "the effects of δ_A and δ_B cannot be separated" in " ".join(
            results.tables[name].notes
        )
    composite = {"composite": "discounts"}
    joined = report(tmp_path / "store.sqlite", "glee", *EFFECTS, options=composite)
    both = joined.tables["impact"].frame
    assert set(both["parameter"]) == {"δ_A and δ_B", "MA", "Alice", "Bob"}
    assert set(both.filter(parameter="δ_A and δ_B")["level"]) == {"0.8, 1"}
    assert "cannot be separated" not in " ".join(joined.tables["impact"].notes)
    same = both.filter(pl.col("parameter") != "δ_A and δ_B").select("name", "metric", "effect")
    assert same.rows() == [
        (*name, pytest.approx(effect, abs=1e-9))
        for *name, effect in impact.select(same.columns).rows()
    ]


def test_market_confounded_with_parameter_is_reported(tmp_path: Path) -> None:
    cases = [{"discounts": [0.9, 0.9]}, {"discounts": [0.8, 0.9], "messages": False}]
    game = {"game": "bargaining", "cases": cases}
    parts = ("Effect of the market", GAINS)
    results = analyse(tmp_path, game, *parts, players=[FLASH, "fair"], repeats=3)
    assert "market and δ_A cannot be separated" in results.lacking["Effect of the market"]
    assert results.tables["self-gain"].frame.height == 2


def test_choice_requires_players_who_met_the_same_others(tmp_path: Path) -> None:
    pairs = [[FLASH, "fair"], ["fair", FLASH], ["fair", "fair"], [FLASH, FLASH], ["tough", "fair"]]
    game = {"game": "negotiation", "grid": {"complete_information": [True, False]}}
    parts = ("Effects of pairs", "Choice of players", "Copies of a player")
    results = analyse(tmp_path / "one", game, *parts, pairing=pairs, repeats=3)
    assert results.tables["pairs-negotiation"].frame.height == 5
    notes = " ".join(results.tables["player-choice"].notes)
    assert "excluded, because they did not meet all others: tough as Alice" in notes
    pairs = [[FLASH, "fair"], ["fair", "tough"]]
    results = analyse(tmp_path / "two", game, *parts, pairing=pairs, repeats=3)
    assert "no two players met the same others" in results.lacking["Choice of players"]
    assert "use pairing: all" in results.lacking["Copies of a player"]


def test_missing_pure_equilibrium_is_noted(glee_results: Findings) -> None:
    pairs = glee_results.evidence.once(pairs_of)[0]
    a = np.array([[1.0, 0.0], [0.0, 1.0]])
    pennies = model_choice(a, 1 - a, ["x", "y"], ["x", "y"], draws=(a[None], 1 - a[None]))
    choice = PlayerChoice(pairs, (a, 1 - a), pennies, ("z as Bob",))
    assert list(notes_of(choice)) == [
        "Bargaining: no pure equilibrium in 100.0% of draws.",
        "Bargaining: the estimates have no pure equilibrium.",
        "Bargaining: excluded, because they did not meet all others: z as Bob.",
    ]


def test_players_without_shared_roles_have_separate_references(tmp_path: Path) -> None:
    game = {"game": "persuasion", "grid": {"myopic": [True, False]}, "fixed": {"horizon": 5}}
    players: dict[str, Any] = {
        name: {"strategies": {"persuasion": {role: strategy}}}
        for name, role, strategy in (
            ("honest", "alice", "honest"),
            ("pushy", "alice", "always_recommend"),
            ("trusting", "bob", "trusting"),
            ("wary", "bob", "sceptical"),
        )
    }
    path = play(tmp_path, STUDY, games=[game], players=players)
    results = report(path, "glee", GAINS, "Copies of a player")
    caption = results.tables["self-gain"].caption
    assert "players differ: honest in persuasion alice, trusting in persuasion bob" in caption
    frame = results.tables["self-gain"].frame
    assert frame.filter(player="wary")["persuasion alice"].is_null().all()
    assert "use pairing: all" in results.lacking["Copies of a player"]


def test_matches_with_people_have_no_pair_effects(tmp_path: Path) -> None:
    import_matches(read_glee(write_all(tmp_path / "games")), tmp_path / "people.sqlite", "people")
    results = report(tmp_path / "people.sqlite", "glee", "Effects of pairs")
    assert "every match has a person" in results.lacking["Effects of pairs"]


def test_unidentified_family_is_noted_in_tables(tmp_path: Path) -> None:
    games = [
        {"game": "bargaining", "pairing": [["fair", "tough"]], "instances": 1},
        {"game": "negotiation", "grid": {"complete_information": [True, False]}},
    ]
    results = report(play(tmp_path, STUDY, games=games), "glee", *EFFECTS)
    for name in ("market-negotiation", "self-gain", "pairs-negotiation", "impact"):
        notes = " ".join(results.tables[name].notes)
        assert "1 match cannot identify 1 effect; play more" in notes


def test_missing_learners_explain_install(
    glee_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("cheaptalk.statistics.baselines.import_module", missing)
    results = report(glee_store, "glee", "Predictions", options={"splits": "1"})
    assert 'pip install "cheaptalk[predict]"' in results.lacking["Predictions"]
