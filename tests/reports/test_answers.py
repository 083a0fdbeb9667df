"""The opening sentence of a game's part: the best player, and whether its lead is certain."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from cheaptalk.reports.recipes.margins import ALPHA, Margin, caution, margins_over, planned_growth
from cheaptalk.reports.study.answers import answer, margins
from cheaptalk.reports.study.scores import GameScores
from cheaptalk.statistics.differences import growth_for_power
from tests.known import known
from tests.reports.guessing import PLACES, scores
from tests.statistics.hall import wider_interval

pytestmark = pytest.mark.usefixtures("guessing")


def played(instances: int, **gains: Callable[[int], float]) -> GameScores:
    return scores(
        (who, instance, gain(instance), "rival")
        for instance in range(instances)
        for who, gain in gains.items()
    )


def observed(gains: Mapping[str, Mapping[str, Iterable[float]]]) -> pl.DataFrame:
    """Return rows of gains by player and configuration, on instances that are numbered from 0."""
    rows = [
        {"configuration": name, "instance": f"{instance}", "who": who, "x": float(x)}
        for who, by_configuration in gains.items()
        for name, values in by_configuration.items()
        for instance, x in enumerate(values)
    ]
    return pl.DataFrame(rows)


def compared(rows: pl.DataFrame, *options: Any, **more: Any) -> Margin:
    """Return the lead of the player with the higher mean over the other one."""
    means = rows.group_by("who").agg(pl.col("x").mean()).sort("x", "who", descending=[True, False])
    (margin,) = margins_over(rows, "who", "x", means.rows(), *options, **more)
    return margin


def test_significant_lead_is_stated() -> None:
    game = played(
        20, ann=lambda instance: 3 + instance % 2, bob=lambda instance: 1.0 + instance % 3 / 10
    )
    (margin,) = margins(game, "left")
    assert margin.behind == "bob"
    assert margin.size == pytest.approx(3.5 - 1.095)
    assert 2 < known(margin.low) < margin.size
    assert answer(game).text.startswith("ann did best as Left: Payoff Left 3.500, 2.405 more than")
    assert "rival as Right: Payoff Right 0.000" in answer(game).text

    game = played(
        20,
        ann=lambda _: 3.0,
        bob=lambda instance: 1.0 + instance % 2 / 100,
        cat=lambda instance: instance % 2 * 1.9,
    )
    assert "2.050 more than cat (simultaneous" in answer(game).text
    game = played(
        20,
        ann=lambda _: 3.0,
        bob=lambda instance: 1.0 + instance % 2,
        cat=lambda instance: 0.5 + instance % 2 / 100,
    )
    assert "1.500 more than the next, bob (simultaneous" in answer(game).text

    lead = Margin("b", 0.03, 0.004, 0.056, 30, 1, None, significant=True)
    assert lead.within(lead.decimals(0)) == " (95 % interval 0.004 to 0.056)"
    assert lead._replace(significant=False).decimals(0) == 0


def test_instance_effects_on_both_players_cancel() -> None:
    """Pairing by instance removes effects that an instance has on both players."""
    luck = np.random.default_rng(1).normal(0, 5, 30)
    noise = np.random.default_rng(2).normal(0, 0.1, (2, 30))
    ann, bob = luck + noise[0] + 1, luck + noise[1]
    game = played(30, ann=lambda instance: ann[instance], bob=lambda instance: bob[instance])
    (margin,) = margins(game, "left")
    difference = ann - bob
    assert margin.size == pytest.approx(difference.mean())
    expected = wider_interval((difference - difference.mean()) / 30, margin.size, 29)
    assert (margin.low, margin.high) == pytest.approx(expected, rel=1e-6)


def test_insignificant_lead_states_the_matches_needed_if_known() -> None:
    game = played(
        10, ann=lambda instance: instance % 5 + 0.5, bob=lambda instance: (instance + 2) % 5
    )
    (margin,) = margins(game, "left")
    assert not margin.significant
    more = known(margin.more)
    verdict = answer(game)
    assert verdict.text.startswith("No player is clearly best as Left yet: ann")
    needed = float(f"{20 * more:.2g}")
    assert f"about {needed:,.0f} matches instead of 20 would show it" in verdict.text
    plan = f"(20 matches played, about {needed:,.0f} needed)"
    assert verdict.short == f"ann leads as Left, not yet significantly {plan}; only rival as Right"
    many = played(
        round(10 * more * 1.3),
        ann=lambda instance: instance % 5 + 0.5,
        bob=lambda instance: (instance + 2) % 5,
    )
    assert next(margins(many, "left")).significant

    def by_pair(gains: Any) -> dict[str, Iterable[float]]:
        return {f"{number}": pair for number, pair in enumerate(gains)}

    def advised(instances: int, gap: float) -> float | str:
        gains = np.random.default_rng(5).normal(size=(2, instances // 2, 2))
        rows = observed({"a": by_pair(gains[0]), "b": by_pair(gains[1])})
        (margin,) = margins_over(rows, "who", "x", [("a", gap), ("b", 0.0)])
        return planned_growth(margin)

    few = "these are too few instances to estimate how many are needed"
    assert advised(12, 0.2) == few  # 12 instances, but about 6 degrees of freedom
    assert advised(60, 1e-4) == "a clear result would need more than 100 times as many instances"
    assert isinstance(advised(60, 0.2), float)

    assert growth_for_power([0.0], [1.0], 9, [[1.0]], 0.025) is None


def test_constant_lead_depends_on_unseen_outcomes() -> None:
    always = played(12, ann=lambda _: 2.0, bob=lambda _: 1.9)
    assert answer(always).text.startswith(
        "On these 12 instances, ann has the highest mean as Left: Payoff Left 2.000, 0.100 more "
        "than bob (the same on every instance, 95 % interval -0.364 to 0.520). This does not show "
        "that it is best: on other instances, the order may differ. "
    )
    once = played(1, ann=lambda _: 2.0, bob=lambda _: 1.0)
    assert "yet: ann (Payoff Left 2.000) is 1.000 ahead of bob (one instance); more" in (
        answer(once).text
    )

    leads = {"c1": 0.4, "c2": 0.1, "c3": -0.2}

    def verdict_of(instances: int) -> tuple[bool, str]:
        ahead = {name: [lead] * instances for name, lead in leads.items()}
        rows = observed({"a": ahead, "b": {name: [0.0] * instances for name in leads}})
        margin = compared(rows, (-0.2, 1.0))
        return margin.significant, margin.within(2)

    same = " (the same on every instance of each configuration, 95 % interval"
    assert verdict_of(20) == (True, f"{same} 0.03 to 0.16)")  # (1.2 / 1.3) ** 58 < 0.05
    assert verdict_of(2) == (False, f"{same} -0.59 to 0.68, on only 6 instances)")

    game = played(
        2, ann=lambda instance: 0.9 + instance / 10, bob=lambda instance: instance / 10 * 1.5
    )
    (margin,) = margins(game, "left")
    assert (margin.low, margin.significant) == (None, False)
    assert "(inconclusive: about one degree of freedom, on only 2 instances)" in answer(game).text


def test_ties_are_stated() -> None:
    game = played(
        10, ann=lambda instance: instance % 2 + 0.5, bob=lambda instance: (instance + 1) % 2 + 0.5
    )
    (margin,) = margins(game, "left")
    assert (margin.size, margin.low) == (0, -(margin.high or 0.0))
    text = answer(game).text
    assert text.startswith(
        "ann and bob have the same mean as Left, Payoff Left 1.000, on these 10 instances; this "
        "does not show that they are equal: the difference between ann and bob is 0.000 (95 % "
        "interval "
        f"-{margin.high:.3f} to {margin.high:.3f}). "
    )
    even = played(12, ann=lambda _: 1.0, bob=lambda _: 1.0)
    assert "on these 12 instances; this does not show that they are equal" in answer(even).text
    assert "0.000 (the same on every instance, 95 % interval -0.442 to 0.442)" in answer(even).text
    alike = played(12, ann=lambda _: 1.0, bob=lambda _: 1.0, cat=lambda _: 1.0)
    assert answer(alike).text.startswith("All 3 players have the same mean as Left")
    both = dict.fromkeys(("ann", "bob"), lambda _: 1.0) | {"cat": lambda _: 0.5}
    assert answer(played(12, **both)).short.startswith("ann and bob have the same mean as Left;")

    rows = observed({"a": {"c": [0.3, 0.3]}, "b": {"c": [0.3, 0.3]}})
    (margin,) = margins_over(rows, "who", "x", [("a", 0.1 + 0.2), ("b", 0.3)])
    assert margin.size == 0


def test_equal_players_rarely_have_a_significant_best() -> None:
    """Of five equal players, one is named best in at most one of twenty studies."""
    chance = np.random.default_rng(3)
    named, studies = 0, 40
    for _ in range(studies):
        gains = chance.normal(size=(5, 12))
        rows = observed({f"p{who}": {"c": values} for who, values in enumerate(gains)})
        means = sorted(((f"p{who}", gains[who].mean()) for who in range(5)), key=lambda p: -p[1])
        named += all(margin.significant for margin in margins_over(rows, "who", "x", means))
    assert named / studies <= ALPHA


def test_margins_stay_within_the_bounds_of_a_difference() -> None:
    rows = observed({"a": {"c": [1.0, 0.2, 0.9]}, "b": {"c": [0.1, 0.4, 0.3]}})
    free, held = compared(rows), compared(rows, (0.0, 1.0))
    assert known(free.high) > 1
    assert (held.low, held.high) == (max(known(free.low), -1.0), 1.0)


def test_roles_of_a_game_share_one_error_rate() -> None:
    noise = np.random.default_rng(1).normal(size=9)
    symmetric = np.array([1, -1, 1, -1, 1, -1, 1, -1, 0])
    rows = observed({"a": {"c": noise + symmetric}, "b": {"c": noise}})
    widths = []
    for statements in (1, 2):
        margin = compared(rows, statements=statements)
        assert ("(simultaneous 95 % interval" in margin.within(2)) is (statements > 1)
        widths.append(margin.size - known(margin.low))
    assert widths[1] / widths[0] == pytest.approx(stats.t.ppf(0.9875, 8) / stats.t.ppf(0.975, 8))


def test_planned_matches_reach_the_intended_power() -> None:
    """One leader and equal rivals: pairwise planning had a power of 0.52 with 4 rivals."""
    for rivals in (1, 4, 9):
        lead, start, tail = 0.4, 12, ALPHA / 2 / rivals
        correlation = np.full((rivals, rivals), 0.5) + 0.5 * np.eye(rivals)
        growth = growth_for_power(
            [lead] * rivals,
            [(2 / start) ** 0.5] * rivals,
            start - 1,
            np.linalg.cholesky(correlation),
            tail,
        )
        instances = round(start * known(growth))
        gains = np.random.default_rng(5).normal(size=(1_500, instances, rivals + 1))
        ahead = gains[:, :, :1] + lead - gains[:, :, 1:]
        t = ahead.mean(axis=1) / ahead.std(axis=1, ddof=1) * instances**0.5
        power = (t > stats.t.ppf(1 - tail, instances - 1)).all(axis=1).mean()
        assert power == pytest.approx(0.8, abs=0.04)


def test_players_who_met_different_opponents_are_not_ranked() -> None:
    game = played(20, ann=lambda at: 3 + at % 2, bob=lambda _: 1.0, cid=lambda _: 2.0)
    met = pl.when(pl.col("player_left") == "cid").then(pl.lit("weak")).otherwise(pl.lit("rival"))
    apart = GameScores("guessing", game.frame.with_columns(met.alias("player_right")), PLACES)
    text = answer(apart).text
    assert text.startswith(
        "The players as Left are not ranked: they met different opponents or configurations. "
        "Players are comparable only within a set: {ann, bob}."
    )
    assert "did best as Left" not in text


def test_constant_player_is_not_ahead_of_a_lottery_with_the_same_mean() -> None:
    """Regression: a sign test named it in most studies in which the lottery paid nothing."""
    rows = observed({"a": {"c": [0.1] * 10}, "b": {"c": [0.0] * 10}})
    margin = compared(rows, (0.0, 1.0))
    assert not margin.significant
    unseen = 1 - 0.05 ** (1 / 10)
    assert margin.low == pytest.approx(0.1 - unseen * 1.1)
    unbounded = compared(rows)
    assert (unbounded.significant, unbounded.low) == (False, None)
    always = played(10, ann=lambda _: 2.0, bob=lambda _: 1.9)
    assert "did best" not in answer(always).text


def test_lead_ignores_unbalanced_matches() -> None:
    luck = np.random.default_rng(5).normal(size=30)
    ann = [("ann", instance, x, "rival") for instance, x in enumerate(luck)]
    game = scores(ann + [("bob", *row[1:]) for row in ann if row[2] > 0])
    (margin,) = margins(game, "left")
    assert (margin.size, margin.significant, margin.matched) == (0, False, True)
    assert margin.instances == (luck > 0).sum()
    assert answer(game).text.startswith("No player is clearly best as Left: bob")
    assert "but is level with ann on the instances that both played, " in answer(game).text

    noise = np.random.default_rng(6)
    counts = {("a", "rich"): 4, ("a", "poor"): 16, ("b", "rich"): 16, ("b", "poor"): 4}
    rows = observed(
        {
            who: {
                name: noise.normal(size=counts[who, name]) + 9 * (name == "rich")
                for name in ("rich", "poor")
            }
            for who in "ab"
        }
    ).with_columns(instance=pl.col("who") + pl.col("instance"))
    margin = compared(rows)
    assert margin.behind == "a"
    within = (
        rows.group_by("configuration")
        .agg(pl.col("x").filter(who="b").mean() - pl.col("x").filter(who="a").mean())["x"]
        .mean()
    )
    assert margin.size == pytest.approx(within)
    assert not margin.significant


def test_players_who_share_few_instances_are_compared_on_all() -> None:
    """With drawn opponents, two players have few instances in common."""
    noise = np.random.default_rng(9)
    rows = observed({who: {"c": noise.normal(size=55)} for who in "ab"})
    instance = pl.col("instance").cast(pl.Int64)
    margin = compared(
        rows.filter(pl.when(pl.col("who") == "a").then(instance < 30).otherwise(instance >= 25))
    )
    assert (margin.instances, margin.matched) == (30, False)


def test_significant_lead_constant_in_a_configuration_has_a_caution() -> None:
    """Regression: a configuration in which the lottery paid nothing counted as exact."""
    noise = np.random.default_rng(0)
    names = ("still", "moved", "other")
    varied = {name: 0.02 * noise.normal(size=10) * (name != "still") for name in names}
    margin = compared(observed({"a": {name: [0.1] * 10 for name in names}, "b": varied}))
    assert (margin.significant, margin.quiet, margin.instances) == (True, 10, 30)
    assert caution(margin) == (
        " In one configuration, the lead is the same on every instance. With only 10 instances, "
        "outcomes that occur in fewer than 1 in 4 may not have appeared yet and could change this "
        "result."
    )
