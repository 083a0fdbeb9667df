"""Results on people, models and scripts of two stores, recomputed from the exported rows alone."""

import itertools
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from polars.testing import assert_frame_equal
from scipy import optimize, stats

import cheaptalk as ct
from cheaptalk.records import Store
from cheaptalk.reports.recipes.findings import Findings
from tests.papers.studies import play, report
from tests.participants import People, mark_as_person

Rows = list[dict[str, Any]]
Floats = NDArray[np.float64]
GPT = {"model": "script/legal"}


def join(
    folder: Path,
    recipe: str,
    study: Mapping[str, Any],
    human: Mapping[str, Any],
    others: Mapping[str, Any],
    visits: Callable[[Rows], Sequence[Sequence[dict[str, Any]]]],
    parts: Sequence[str],
    **options: str,
) -> tuple[Findings, pl.DataFrame, pl.DataFrame]:
    """Return the results on people in one store and other players in another, and the exports.

    Args:
        study: what both studies share.
        human, others: the players and pairing of each study; ``human`` has the people.
        parts: the parts of the recipe to compute.
        visits: the plays of each participant, given the plays of all seats with people.
    """
    paths = [play(folder / "people", study, name="with-people", **human)]
    paths.append(play(folder / "others", study, name="others", **others))
    with Store.open(paths[0]) as store:
        mark_as_person(store, "human")
        rows = [
            {"match_id": record.id, "game": record.game, "seat": seat}
            for record in store.records("with-people")
            for seat in record.seats
            if record.label(seat) == "human"
        ]
        people = People(store, "with-people")
        for visit in visits(rows):
            people.come("end", "complete", [], [{"state": "finished"} | each for each in visit])
    sources = list(zip(paths, ("with-people", "others"), strict=True))
    results = []
    for order, name in ((sources, "pooled"), (sources[::-1], "reversed")):
        ct.records.pool(order, folder / f"{name}.sqlite", "pooled")
        results.append(report(folder / f"{name}.sqlite", recipe, *parts, options=options))
    first, second = (each.tables for each in results)
    assert first.keys() == second.keys()
    for name, table in first.items():
        assert_frame_equal(table.frame, second[name].frame)
    ct.export(folder / "pooled.sqlite", "pooled", folder / "export")
    matches, plays = (
        pl.read_csv(folder / "export" / f"{name}.csv", infer_schema_length=None)
        for name in ("matches", "plays")
    )
    return results[0], matches, plays


def standard_error(values: Floats, instances: Sequence[Any], people: Sequence[Any]) -> float:
    """Return the error of a mean over matches that share instances or participants (or groups)."""
    off = (values - values.mean()) / len(values)
    units, who = (np.unique(keys, return_inverse=True)[1] for keys in (instances, people))

    def cluster(codes: NDArray[Any]) -> float:
        sums = np.bincount(codes, off)
        return float(len(sums) / (len(sums) - 1) * (sums**2).sum())

    if len({*people}) == len(values):  # nobody, or everybody only once
        return math.sqrt(cluster(units))
    shared = (units[:, None] == units) | (who[:, None] == who)
    fewest = min(units.max(), who.max()) + 1
    both = fewest / (fewest - 1) * off @ shared @ off
    return math.sqrt(max(cluster(units), cluster(who), both))


# Chip trading


def bound(worths: Mapping[str, Mapping[str, int]], chips: int) -> float:
    """Return the largest surplus in dollars at which no player loses (definition 1)."""
    values = np.array([[*by_colour.values()] for by_colour in worths.values()], dtype=float)
    players, colours = values.shape
    own = np.zeros((players, values.size))
    for player in range(players):
        own[player, player * colours : (player + 1) * colours] = values[player]
    start = chips * values.sum(axis=1)
    solution = optimize.linprog(
        -values.ravel(),
        -own,
        -start,
        np.tile(np.eye(colours), players),
        [players * chips] * colours,
    )
    return float(-solution.fun - start.sum()) / 100


def trade(turn: Mapping[str, Any], player: str) -> tuple[str, int, str, int]:
    """Return what the player would give and get: colour, number, colour, number."""
    offer = turn["proposal"]
    given = offer["give"], offer["give_amount"]
    wanted = offer["want"], offer["want_amount"]
    return (*given, *wanted) if player == turn["proposer"] else (*wanted, *given)


def chips_held(turns: Rows, player: str, start: dict[str, int], reverse: int = -1) -> Rows:
    """Return a player's chips before each turn and at the end if one decision is reversed."""
    held = [dict(start)]
    for at, turn in enumerate(turns):
        trades = player in (turn["partner"], turn["proposer"] if turn["partner"] else None)
        if at == reverse:
            trades = player != turn["proposer"] and player not in turn["willing"]
        give, lost, get, won = trade(turn, player)
        held.append(dict(held[-1]))
        if trades and held[-1][give] >= lost:
            held[-1][give] -= lost
            held[-1][get] += won
    return held


def gain_of(turn: Mapping[str, Any], player: str, values: Mapping[str, int]) -> int:
    """Return the player's gain from a trade in cents."""
    give, lost, get, won = trade(turn, player)
    return values[get] * won - values[give] * lost


def missed_offer(
    turns: Rows, player: str, values: Mapping[str, int], at: int, held: Rows, other: Rows
) -> str:
    """Return the regret of a trade made or accepted, from the best offer that the player missed."""
    missed = [(0, "no")]
    for later in range(at + 1, len(turns)):
        offer, gain = turns[later], gain_of(turns[later], player, values)
        declined = player not in (offer["proposer"], *offer["willing"])
        give, lost, *_ = trade(offer, player)
        if declined and gain > gain_of(turns[at], player, values):
            kinds = {"unforced": held[later], "forced": other[later]}
            missed += [(gain, kind) for kind, chips in kinds.items() if chips[give] >= lost]
    return max(missed)[1]


def regrets(worths: Mapping[str, Any], turns: Rows, chips: int) -> list[tuple[str, str]]:
    """Return the part and the regret of each decision in the sample (Figure 5)."""
    found = []
    for player, values in worths.items():
        start = dict.fromkeys(values, chips)
        held = chips_held(turns, player, start)
        for at, turn in enumerate(turns):
            proposes, willing = player == turn["proposer"], player in turn["willing"]
            give, lost, *_ = trade(turn, player)
            unmade = proposes and not turn["partner"]
            if unmade or gain_of(turn, player, values) <= 0 or held[at][give] < lost:
                continue
            other = chips_held(turns, player, start, at)
            if proposes or willing:
                regret = missed_offer(turns, player, values, at, held, other)
                if proposes:  # footnote 13
                    regret = regret.replace("unforced", "no")
                found.append(("proposer" if proposes else "acceptor", regret))
            else:
                ends = [sum(values[c] * n for c, n in each[-1].items()) for each in (held, other)]
                found.append(("decliner", "unforced" if ends[1] > ends[0] else "no"))
    return found


def chip_tables(
    matches: pl.DataFrame, plays: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return games, proposals and decisions; ``group`` identifies people who play together."""
    groups = dict(plays.group_by("match_id").agg(pl.col("participant").sort().str.join()).rows())
    games: Rows = []
    offers: Rows = []
    sample: Rows = []
    for row in matches.iter_rows(named=True):
        worths, turns = json.loads(row["outcome_worths"]), json.loads(row["outcome_turns"])
        chips, most = row["game_chips"], bound(json.loads(row["outcome_worths"]), row["game_chips"])
        labels = {player: row[f"player_{player}"] for player in worths}
        key = {"variant": f"{len(json.loads(row['game_colours']))} colours"}
        key |= {"population": labels["player_1"], "instance": row["instance"]}
        key |= {"group": groups.get(row["match_id"], row["match_id"])}
        total = 0
        for at, turn in enumerate(turns, 1):
            sides = filter(None, (turn["proposer"], turn["partner"]))
            gains = [gain_of(turn, side, worths[side]) for side in sides]
            total += sum(gains) if turn["partner"] else 0
            offer, outcome = turn["proposal"], "accepted" if turn["partner"] else "rejected"
            ratio = offer["give_amount"] / offer["want_amount"]
            rest = {"outcome": outcome, "gain": gains[0] / 100, "ratio": ratio}
            offers.append(key | rest | {"turn": at, "share": total / 100 / most})
        games.append(key | {"ratio": total / 100 / most})
        found = regrets(worths, turns, chips)
        sample += [key | {"part": part, "regret": regret} for part, regret in found]
    return pl.DataFrame(games), pl.DataFrame(offers), pl.DataFrame(sample)


def test_chip_trading_tables_follow_from_exported_rows(tmp_path: Path) -> None:
    study = {
        "seed": 3,
        "instances": 4,
        "pairing": "self",
        "games": [
            {
                "game": "chip_trading",
                "grid": {"colours": [["green", "red"], ["green", "red", "blue"]]},
            }
        ],
    }

    def visits(rows: Rows) -> list[Rows]:
        return [
            [rows[at + seat], rows[at + 3 + seat]] for at in range(0, 24, 6) for seat in range(3)
        ]

    results, matches, plays = join(
        tmp_path,
        "chips",
        study,
        {"players": {"human": "random"}},
        {"players": {"gpt-4o": GPT, "zero": "zero_intelligence"}},
        visits,
        [
            "Surplus by turn",
            "Final surplus",
            "Differences between populations",
            "Proposals",
            "Regret",
        ],
    )
    games, offers, sample = chip_tables(matches, plays)
    assert games["population"].n_unique() == 3
    tables = {name: table.frame for name, table in results.tables.items()}
    for (variant, who), part in games.group_by("variant", "population"):
        row = tables["final-surplus"].row(by_predicate=pl.col("population") == who, named=True)
        ratios = part["ratio"].to_numpy()
        error = standard_error(ratios, part["instance"].to_list(), part["group"].to_list())
        assert row[variant] == pytest.approx(ratios.mean(), abs=1e-12)
        assert row[f"{variant}_error"] == pytest.approx(error, abs=1e-12)
    for (variant, who, outcome), part in offers.group_by("variant", "population", "outcome"):
        where = {"variant": variant, "player": who, "outcome": outcome}
        row = tables["proposals"].filter(**where).row(0, named=True)
        for name in ("gain", "ratio"):
            value = pl.col(name)
            expected = part.select(mean=value.mean(), sd=value.std(), median=value.median()).row(0)
            assert [row[name], row[f"{name}_sd"], row[f"{name}_median"]] == pytest.approx(expected)
    last = offers.filter(pl.col("turn") % 3 == 0)
    for (variant, who, turn), part in last.group_by("variant", "population", "turn"):
        row = tables["surplus-by-round"].filter(variant=variant, population=who).row(0, named=True)
        assert row[f"round {turn // 3}"] == pytest.approx(part["share"].mean(), abs=1e-12)
    for key, part in sample.group_by("variant", "population", "part"):
        where = dict(zip(("variant", "player", "part"), key, strict=True))
        row = tables["regret-of-decisions"].filter(**where).row(0, named=True)
        kinds = part["regret"].to_list()
        shares = [kinds.count(kind) / len(kinds) for kind in ("no", "unforced", "forced")]
        assert (row["decisions"], *(row[kind] for kind in ("no", "unforced", "forced"))) == (
            pytest.approx((len(kinds), *shares))
        )
    for row in tables["pairwise-tests"].iter_rows(named=True):
        sides = [
            games.filter(variant=row["variant"], population=row[side])
            for side in ("second", "first")
        ]
        both = sides[0].join(sides[1], on="instance", validate="1:1")
        human = "group" if "human" in sides[0]["population"] else "group_right"
        means = both.group_by(human).agg((pl.col("ratio") - pl.col("ratio_right")).mean())
        gaps = means["ratio"].to_numpy()
        flips = np.array([*itertools.product((-1, 1), repeat=len(gaps))]) @ gaps
        total = gaps.sum()
        sides_p = [(flips >= total - 1e-9).mean(), (flips <= total + 1e-9).mean()]
        assert row["difference"] == pytest.approx(gaps.mean(), abs=1e-12)
        assert row["p"] == pytest.approx(min(1.0, 2 * min(sides_p)))


# Deal or No Deal


def is_optimal(counts: list[int], values: list[list[int]], claim: list[int], weight: float) -> bool:
    """Return whether no other division is better for one player and not worse for the other."""

    def payoffs(claim: Sequence[int]) -> tuple[float, float]:
        rest = [count - part for count, part in zip(counts, claim, strict=True)]
        own, partner = (
            sum(a * b for a, b in zip(*pair, strict=True))
            for pair in ((values[0], claim), (values[1], rest))
        )
        return own + weight * partner, partner + weight * own

    own, partner = payoffs(claim)
    others = map(payoffs, itertools.product(*(range(count + 1) for count in counts)))
    return not any(a >= own and b >= partner and (a, b) != (own, partner) for a, b in others)


def rates(matches: pl.DataFrame, plays: pl.DataFrame) -> pl.DataFrame:
    """Return agreement and Pareto optimality in percent, with the iteration and its partner."""
    people = dict(plays.select("match_id", "participant").rows())
    rows = []
    for row in matches.iter_rows(named=True):
        counts, values, claims = (
            json.loads(row[name] or "null")
            for name in ("instance_context_counts", "instance_context_values", "outcome_claims")
        )
        agreed = bool(claims) and all(claims) and [*map(sum, zip(*claims, strict=True))] == counts
        optimal = agreed and is_optimal(counts, values, claims[0], row["game_objective"])
        labels = [row["player_player_1"], row["player_player_2"]]
        with_people = "human" in labels
        player = next(label for label in labels if label != "human")
        lineage, _, iteration = player.partition("-iteration-")
        rows.append(
            {
                "objective": {0.0: "semi-competitive", 1.0: "cooperative"}[row["game_objective"]],
                "series": "with people" if with_people else "self-play",
                "lineage": lineage,
                "end": ["before", "after"][int(iteration)],
                "instance": row["instance"],
                "who": people.get(row["match_id"], row["match_id"]),
                "Agreement": 100.0 * agreed,
                "Pareto optimality": 100.0 * optimal,
            }
        )
    return pl.DataFrame(rows)


def test_deal_or_no_deal_table_2_follows_from_exported_rows(tmp_path: Path) -> None:
    iterations = [f"gpt-iteration-{number}" for number in (0, 1)]
    gpt = {name: GPT | {"temperature": at / 2} for at, name in enumerate(iterations)}
    noisy = {
        f"script-iteration-{at}": {"strategy": "noisy", "contradicting": share}
        for at, share in enumerate((0.8, 0.1))
    }
    study = {
        "seed": 2,
        "instances": 8,
        "games": [{"game": "deal_or_no_deal", "grid": {"objective": ["self", "coop"]}}],
    }
    pairing = [pair for name in iterations for pair in (["human", name], [name, "human"])]
    results, matches, plays = join(
        tmp_path,
        "self-play",
        study,
        {"players": gpt | {"human": "fair"}, "pairing": pairing},
        {"players": gpt | noisy, "pairing": "self"},
        lambda rows: [rows[number::5] for number in range(5)],
        ["Before and after", "Judges"],
    )
    assert re.search("judge run (with-people|others) ", results.lacking["Judges"])
    frame = rates(matches, plays)
    table = results.tables["before-after"].frame
    printed = {row["row"]: row for row in results.tables["table-2"].rows}
    keys = ("objective", "series", "lineage", "end")
    for key, part in frame.group_by(keys):
        where = dict(zip(keys, key, strict=True))
        end = where.pop("end")
        for rate in ("Agreement", "Pareto optimality"):
            row = table.filter(rate=rate, **where).row(0, named=True)
            values = part[rate].to_numpy()
            error = standard_error(values, part["instance"].to_list(), part["who"].to_list())
            assert (row[end], row[f"{end}_n"]) == (pytest.approx(values.mean()), len(values))
            assert (row[f"{end}_error"] or 0) == pytest.approx(error, abs=1e-9)
            cell = printed[f"{where['lineage']}, {end}"]
            assert cell[f"{rate} {where['objective']} {where['series']}"] == row[end]
    assert frame.group_by(keys).len().height == table.height == 12


# GLEE


def gains(row: Mapping[str, Any]) -> tuple[float, float]:
    """Return Alice's and Bob's gain relative to the stakes (sections 2.1 to 2.3)."""
    if row["game"] == "bargaining":
        rounds, money = (row["outcome_stage"] or 1) - 1, row["game_money"]
        return tuple(
            row[f"game_discounts_{seat}"] ** rounds * (row[f"outcome_{seat}_gain"] or 0) / money
            for seat in ("alice", "bob")
        )
    if row["game"] == "negotiation":
        if row["outcome_ended"] != "trade":
            return 0.0, 0.0
        price = row["outcome_price"] / row["game_scale"]
        return price - row["game_seller_factor"], row["game_buyer_factor"] - price
    high, bought = (json.loads(row[f"outcome_{name}"]) for name in ("high", "bought"))
    values = [row["game_value"] * good - 1 for good, buys in zip(high, bought, strict=True) if buys]
    return len(values) / len(bought), sum(values) / len(bought)


MARKETS = {
    "bargaining": ["game_complete_information", "game_messages", "game_horizon_rounds"],
    "negotiation": ["game_complete_information", "game_messages", "game_horizon_rounds"],
    "persuasion": ["game_seller_knows_values", "game_signal", "game_myopic"],
}
OTHERS = {"bargaining": "game_discounts_alice", "negotiation": "game_buyer_factor"}
"""The parameter that varies besides the market, by game; persuasion: ``game_value``."""


def effects(rows: pl.DataFrame, gain: str, reference: str) -> dict[tuple[str, str], list[float]]:
    """Return each player's effect on a gain in points, with half its classical interval.

    Ordinary least squares on the market, another parameter and both players.
    """
    columns, names = [np.ones(rows.height)], [("", "")]
    for factor in ("market", "other", "Alice", "Bob"):
        levels = sorted(rows[factor].unique())
        levels.remove(reference if reference in levels else levels[0])
        columns += [(rows[factor] == level).to_numpy().astype(float) for level in levels]
        names += [(factor, level) for level in levels]
    design, outcome = np.column_stack(columns), rows[gain].to_numpy()
    inverse = np.linalg.inv(design.T @ design)
    estimates = inverse @ design.T @ outcome
    residuals, freedom = outcome - design @ estimates, rows.height - len(names)
    errors = np.sqrt(np.diag(inverse) * (residuals @ residuals) / freedom)
    halves = float(stats.t.ppf(0.975, freedom)) * errors
    return {
        name: [100 * estimate, 100 * half]
        for name, estimate, half in zip(names, estimates, halves, strict=True)
    }


def test_glee_table_3_follows_from_exported_rows(tmp_path: Path) -> None:
    study = {
        "seed": 5,
        "instances": 2,
        "games": [
            {"game": "bargaining", "fixed": {"horizon": 6},
             "grid": {"discounts": [[0.8, 0.9], [0.9, 0.9]], "messages": [True, False]}},
            {"game": "negotiation", "fixed": {"horizon": 6},
             "grid": {"buyer_factor": [1.2, 1.5], "complete_information": [True, False]}},
            {"game": "persuasion", "fixed": {"horizon": 5},
             "grid": {"value": [1.25, 3], "myopic": [True, False]}},
        ],
    }  # fmt: skip
    games = ("bargaining", "negotiation", "persuasion")
    noise = dict(zip(games, ("random", "zero_intelligence", "random"), strict=True))
    fair = {"bargaining": "equal_split", "negotiation": "split_the_difference"}
    tough = {"bargaining": "boulware", "negotiation": "boulware"}
    scripts = {
        "tough": {
            "strategies": tough | {"persuasion": {"alice": "always_recommend", "bob": "sceptical"}}
        },
        "fair": {"strategies": fair | {"persuasion": {"alice": "honest", "bob": "trusting"}}},
    }
    results, matches, _ = join(
        tmp_path,
        "glee",
        study,
        {
            "players": {"human": {"strategies": noise}, "gpt": GPT},
            "pairing": [["human", "gpt"], ["gpt", "human"]],
        },
        {"players": scripts | {"gpt": GPT}},
        lambda rows: [[row] for row in rows],
        ["Players' gains"],
        reference="gpt",
    )
    table = {row["player"]: row for row in results.tables["table-3"].rows}
    assert table.keys() == {"human", "gpt", "tough", "fair"}
    for game in games:
        rows = pl.DataFrame(
            [
                {
                    "market": str([row[name] for name in MARKETS[game]]),
                    "other": str(row[OTHERS.get(game, "game_value")]),
                    "Alice": row["player_alice"],
                    "Bob": row["player_bob"],
                    **dict(zip(("gain of Alice", "gain of Bob"), gains(row), strict=True)),
                }
                for row in matches.filter(game=game).iter_rows(named=True)
            ]
        )
        for role in ("Alice", "Bob"):
            key = f"{game} {role.lower()}"
            assert table["gpt"][key] == 0
            expected = effects(rows, f"gain of {role}", "gpt")
            for player in ("human", "tough", "fair"):
                computed = [table[player][key], table[player][f"{key}.half"]]
                assert computed == pytest.approx(expected[role, player], abs=1e-8)
