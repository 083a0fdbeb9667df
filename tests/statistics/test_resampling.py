from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from cheaptalk.statistics import (
    StatisticsError,
    bootstrap,
    correlation,
    mean_intervals,
    rank_ranges,
)
from cheaptalk.statistics.resampling import clusters_of


def alike(instances: int = 30, size: int = 4, seed: int = 1) -> pl.DataFrame:
    """Matches whose instances give all of them much the same luck."""
    draw = np.random.default_rng(seed)
    instance = np.repeat(np.arange(instances), size)
    gain = draw.normal(size=instances)[instance] + 0.3 * draw.normal(size=len(instance))
    return pl.DataFrame({"instance": instance, "gain": gain, "half": instance % 2})


def mean(frame: pl.DataFrame) -> dict[str, float | None]:
    return {"mean": float(frame["gain"].to_numpy().mean())}


def test_draws_whole_clusters_as_many_as_there_are() -> None:
    frame = alike(10, 3).sample(fraction=1, shuffle=True, seed=1)
    clusters = clusters_of(frame, ["instance"], [])
    generator = np.random.default_rng(1)
    seen = set()
    for rows in clusters.rows(clusters.draws(50, generator)):
        counts = frame[rows]["instance"].value_counts()
        assert counts["count"].sum() == 30
        assert (counts["count"] % 3 == 0).all()
        assert frame[rows].unique().group_by("instance").len()["len"].unique().to_list() == [3]
        seen |= set(counts["instance"].to_list())
    assert seen == set(range(10))


def test_strata_keep_their_sizes() -> None:
    frame = alike(9, 2)
    clusters = clusters_of(frame, ["instance"], ["half"])
    assert clusters.label == "9 clusters in 2 strata"
    for rows in clusters.rows(clusters.draws(20, np.random.default_rng(2))):
        assert frame[rows].group_by("half").len().sort("half")["len"].to_list() == [10, 8]
    assert clusters_of(frame, ["half", "instance"], ["half"]).label == clusters.label


def test_strata_with_one_cluster_are_collapsed() -> None:
    frame = pl.DataFrame({"instance": [0, 1, 2, 3], "game": ["a", "b", "c", "c"]})
    clusters = clusters_of(frame, ["instance"], ["game"])
    groups = {frozenset(frame["game"][rows].to_list())
              for rows in clusters.rows(clusters.draws(60, np.random.default_rng(0)))}  # fmt: skip
    assert groups == {frozenset("ac"), frozenset("bc")}
    assert clusters_of(frame.tail(3), ["instance"], ["game"]).label == "3 clusters"


def test_errors_agree_with_those_of_clustered_means() -> None:
    frame = alike(60)
    found = bootstrap(frame, mean, cluster=["instance"], seed=3).frame.row(0, named=True)
    known = mean_intervals(frame, ["gain"], cluster=["instance"]).row(0, named=True)
    assert found["estimate"] == pytest.approx(known["mean"])
    assert found["error"] == pytest.approx(known["error"], rel=0.06)
    assert (found["low"], found["high"]) == pytest.approx((known["low"], known["high"]), abs=0.04)
    by_match = bootstrap(frame, mean, cluster=[], seed=3)
    assert by_match.frame["error"][0] < 0.6 * found["error"]
    assert "240 clusters" in by_match.label


@pytest.mark.parametrize("size", [2, 3, 5])
def test_draws_of_small_strata_vary_as_much_as_means_do(size: int) -> None:
    frame = alike(12 * size, 1).with_columns(stratum=pl.col("instance") // size)
    found = bootstrap(frame, mean, cluster=["instance"], strata=["stratum"], draws=3_000)
    known = mean_intervals(frame, ["gain"], cluster=["stratum", "instance"], strata=["stratum"])
    assert found.frame["error"][0] == pytest.approx(known["error"][0], rel=0.05)  # 0.71 of it, once


def test_cautions_count_degrees_of_freedom() -> None:
    frame = alike(30, 1).with_columns(stratum=pl.col("instance") // 2)
    found = bootstrap(frame, mean, cluster=["instance"], strata=["stratum"], draws=50)
    few = "30 clusters have only 15 degrees of freedom: the intervals are likely too narrow"
    assert found.notes == (few,)


def test_strata_take_out_what_differs_between_them() -> None:
    frame = alike(40).with_columns(pl.col("gain") + 50 * pl.col("half"))
    apart = bootstrap(frame, mean, cluster=["instance"], strata=["half"], draws=300)
    whole = bootstrap(frame, mean, cluster=["instance"], draws=300)
    assert apart.frame["error"][0] < 0.1 * whole.frame["error"][0]


def test_the_same_seed_gives_the_same_draws() -> None:
    frame = alike()
    one, again, other = (
        bootstrap(frame, mean, cluster=["instance"], draws=50, seed=seed).replicates
        for seed in (1, np.random.default_rng(1), 2)
    )
    assert one.equals(again)
    assert not one.equals(other)


def test_a_statistic_that_did_not_vary_has_no_error() -> None:
    rng = np.random.default_rng(5)
    alike = rng.lognormal(0, 3, size=7)
    rows = [(instance, value) for instance in range(20) for value in rng.permutation(alike)]
    frame = pl.DataFrame(rows, schema=["instance", "x"], orient="row")
    found = bootstrap(frame, lambda one: {"sum": sum(one["x"])}, cluster=["instance"], draws=50)
    assert found.frame["error"].item() == 0


def test_undefined_draws_are_counted_and_left_out() -> None:
    def share(frame: pl.DataFrame) -> dict[str, float | None]:
        some = frame.filter(pl.col("instance") == 0)
        return {"first": 1.0 if len(some) else None, "never": float("nan")}

    found = bootstrap(alike(3), share, cluster=["instance"], draws=400)
    first, never = found.frame.rows(named=True)
    assert first["undefined"] == pytest.approx(4 / 9 * 3 / 4 + (2 / 3) ** 3 / 4, abs=0.08)
    assert (first["estimate"], first["low"], first["high"]) == (1, 1, 1)
    assert never["undefined"] == 1
    assert never["estimate"] is never["error"] is never["low"] is None
    assert found.notes == ("3 clusters are few: the intervals are likely too narrow",)
    assert "nan" not in str(found).lower()


def test_bootstraps_say_what_they_lack() -> None:
    frame = alike()
    with pytest.raises(StatisticsError, match=r'no column "bet" .* to draw by'):
        bootstrap(frame, mean, cluster=["bet"])
    with pytest.raises(StatisticsError, match="at least two clusters"):
        bootstrap(alike(1), mean, cluster=["instance"])
    with pytest.raises(StatisticsError, match="returned no numbers"):
        bootstrap(frame, lambda _: {}, cluster=["instance"], draws=2)
    for draws, level in ((1, 0.95), (10, 95)):
        with pytest.raises(StatisticsError, match=r"draws must be at least 2|not 95"):
            bootstrap(frame, mean, cluster=["instance"], draws=draws, level=level)


def players(truth: list[float], instances: int = 50, luck: float = 3.0) -> pl.DataFrame:
    """Every player on every instance, which are generous or mean to all alike."""
    draw = np.random.default_rng(5)
    gains = (
        luck * draw.normal(size=(instances, 1)) + truth + draw.normal(size=(instances, len(truth)))
    )
    columns = {
        "instance": np.repeat(np.arange(instances), len(truth)),
        "player": np.tile(list("abcdefgh"[: len(truth)]), instances),
    }
    return pl.DataFrame(columns).with_columns(gain=pl.Series(gains.ravel()))


def test_ranks_hold_where_players_differ_and_spread_where_they_do_not() -> None:
    frame = players([0.0, 0.05, 3.0, 6.0])
    found = rank_ranges(frame, "gain", "player", cluster=["instance"])
    rows = {row["group"]: row for row in found.frame.rows(named=True)}
    assert found.frame["rank"].to_list() == [1, 2, 3, 4]
    assert [(rows[name]["sure_low"], rows[name]["sure_high"]) for name in "dcba"] == [
        (1, 1), (2, 2), (3, 4), (3, 4),
    ]  # fmt: skip
    assert (rows["a"]["low"], rows["a"]["high"]) == (3, 4)
    assert rows["d"]["first"] == 1
    assert rows["c"]["mean"] == pytest.approx(frame.filter(player="c")["gain"].to_numpy().mean())
    assert found.notes == ()
    assert "50 clusters" in str(found)


@pytest.mark.parametrize("binary", [True, False])
def test_equal_players_are_seldom_surely_first_in_thin_strata(binary: bool) -> None:
    luck, first = np.random.default_rng(77), 0
    for study in range(120):
        gains = luck.normal(size=80) > 0.5 if binary else luck.normal(size=80)
        frame = pl.DataFrame({
            "configuration": np.arange(80) // 4, "instance": np.arange(80) // 2,
            "player": ["a", "b"] * 40, "gain": np.asarray(gains, dtype=np.float64),
        })  # fmt: skip
        found = rank_ranges(
            frame, "gain", "player", strata=["configuration"], draws=200, seed=study
        )
        first += found.frame["sure_high"][0] == 1
    assert first <= 11  # about 20 with the draws of whole strata and a normal quantile


def test_a_difference_that_never_varied_is_never_sure() -> None:
    """The values have no bounds, and instances can lack an outcome that would reverse it."""
    frame = pl.DataFrame(
        {
            "instance": np.repeat(np.arange(30), 2),
            "player": ["a", "b"] * 30,
            "gain": [0.0, 1.0] * 30,
        }
    )
    found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=100)
    assert (found.frame["sure_high"][0], found.leads[0].constant) == (2, True)


@pytest.mark.parametrize(("groups", "clusters"), [(5, 3), (10, 5)])
def test_sure_ranks_of_equal_groups_hold_for_all_at_once(groups: int, clusters: int) -> None:
    """They excluded a rank of some group in a quarter of the studies of so few clusters."""
    luck, wrong = np.random.default_rng(3), 0
    for _ in range(100):
        frame = pl.DataFrame({
            "instance": np.repeat(np.arange(clusters), groups),
            "player": [*map(str, range(groups))] * clusters,
            "gain": luck.normal(size=clusters * groups),
        })  # fmt: skip
        found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=20).frame
        wrong += bool((found["sure_low"] > 1).any() or (found["sure_high"] < groups).any())
    assert wrong <= 9  # of 5 expected at most


def test_lowest_can_be_best() -> None:
    frame = players([0.0, 3.0, 6.0])
    up = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=100).frame
    down = rank_ranges(
        frame, "gain", "player", cluster=["instance"], draws=100, highest=False
    ).frame
    assert down["group"].to_list() == up["group"].to_list()[::-1]
    assert_allclose(down["mean"], up["mean"].to_numpy()[::-1])


def test_shared_instances_make_rankings_surer() -> None:
    frame = players([0.0, 1.0, 2.0])
    apart = frame.with_columns(instance=pl.int_range(pl.len()))
    sure = rank_ranges(frame, "gain", "player", cluster=["instance"]).frame
    unsure = rank_ranges(apart, "gain", "player", cluster=["instance"]).frame
    assert (sure["sure_high"] - sure["sure_low"]).sum() == 0
    assert (unsure["sure_high"] - unsure["sure_low"]).sum() > 0


def test_ties_share_the_first_place_and_a_rank() -> None:
    frame = pl.DataFrame(
        {"instance": [1, 1, 2, 2, 3, 3], "player": list("ab") * 3, "gain": [1.0, 1, 2, 2, 3, 3]}
    )
    found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=100).frame
    assert found["rank"].to_list() == [1, 1]
    assert found["first"].to_list() == [0.5, 0.5]
    assert found.select("sure_low", "sure_high").rows() == [(1, 2), (1, 2)]
    many = pl.concat([frame.with_columns(pl.col("instance") + 3 * at) for at in range(4)])
    found = rank_ranges(many, "gain", "player", cluster=["instance"], draws=100).frame
    assert found.select("low", "high").rows() == [(1, 2), (1, 2)]  # (1, 1): the better end of ties


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_percentiles_of_ranks_seldom_part_equal_groups_of_few_clusters(clusters: int) -> None:
    """One of two equal groups is often ahead on all of few clusters, and then in all draws."""
    luck, parted = np.random.default_rng(5), 0
    for _ in range(60):
        frame = pl.DataFrame({
            "instance": np.repeat(np.arange(clusters), 2), "player": ["a", "b"] * clusters,
            "gain": luck.normal(size=clusters * 2),
        })  # fmt: skip
        found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=40).frame
        parted += found["high"][0] == 1
    assert parted <= 6  # 30 of 60 of two clusters


def test_means_that_only_rounding_tells_apart_are_ties() -> None:
    """Sums of the same numbers in another order gave two equal players ranks 1 and 2."""
    values = [1e-3, 0.1, 0.7, 0.2, 1 / 3, 1e-6, 0.9, 1 / 7]
    rows = [
        (instance, who, values[(instance + turn) % 8] - sum(values) / 8)
        for instance in range(8) for turn, who in enumerate("abcd")
    ]  # fmt: skip
    frame = pl.DataFrame(rows, ["instance", "player", "gain"], orient="row")
    means = frame.group_by("player").agg(pl.col("gain").sum())["gain"]
    assert means.n_unique() > 1
    found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=200).frame
    assert found["rank"].to_list() == [1, 1, 1, 1]
    same = pl.concat(frame.filter(player="a").with_columns(player=pl.lit(who)) for who in "ab")
    twins = same.with_columns(gain=pl.col("gain") + pl.Series([0.0] * 8 + [1e-17] * 8))
    drawn = rank_ranges(twins, "gain", "player", cluster=["instance"], draws=200).frame
    assert drawn["first"].to_list() == [0.5, 0.5]


def test_draws_without_a_group_do_not_count() -> None:
    frame = players([0.0, 3.0], instances=30).filter(
        (pl.col("player") == "a") | (pl.col("instance") < 2)
    )
    found = rank_ranges(frame, "gain", "player", cluster=["instance"], draws=500)
    assert "draws lack a group" in found.notes[-1]
    assert found.frame["error"].is_finite().all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"value": "profit"}, 'no column "profit" .* to rank by'),
        ({"by": "one"}, "fewer than two groups"),
        ({"draws": 1}, "draws must be at least 2"),
    ],
)
def test_rankings_say_what_they_lack(options: dict[str, Any], said: str) -> None:
    frame = players([0.0, 1.0]).with_columns(one=1)
    asked = {"value": "gain", "by": "player", "cluster": ["instance"]} | options
    with pytest.raises((StatisticsError, ValueError), match=said):
        rank_ranges(frame, **asked)


def test_rankings_need_clusters_enough_for_a_draw_with_all() -> None:
    frame = pl.DataFrame({"instance": [1, 2], "player": ["a", "b"], "gain": [1.0, 2.0]})
    with pytest.raises(StatisticsError, match="nearly all draws lack a group"):
        rank_ranges(frame, "gain", "player", cluster=["instance"], draws=2, seed=3)


def pairs(rows: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(4)
    x = draw.normal(size=rows)
    frame = pl.DataFrame({"instance": np.arange(rows) // 2, "x": x})
    return frame.with_columns(y=pl.Series(x**3 + draw.normal(size=rows)), flat=pl.lit(0.5))


def test_pearson_agrees_with_scipy() -> None:
    frame = pairs()
    found = correlation(frame, "x", "y", interval="fisher", level=0.9)
    from_scipy = np.corrcoef(frame["x"].to_numpy(), frame["y"].to_numpy())[0, 1]
    assert found.estimate == pytest.approx(from_scipy)
    width = 1.6448536 / np.sqrt(57)
    assert (found.low, found.high) == pytest.approx(
        (np.tanh(np.arctanh(from_scipy) - width), np.tanh(np.arctanh(from_scipy) + width))
    )
    assert found.label == "90 %, Fisher's z, 60 independent rows"
    assert found.p is not None
    assert found.p < 1e-6


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_bootstrap_and_fisher_agree_on_independent_rows(method: Any) -> None:
    frame = pairs(300)
    fisher = correlation(frame, "x", "y", method=method, interval="fisher")
    drawn = correlation(frame, "x", "y", method=method, cluster=[], draws=400)
    assert drawn.estimate == pytest.approx(fisher.estimate)
    assert drawn.frame["low"][0] == pytest.approx(fisher.low, abs=0.06)
    assert drawn.p is None
    assert "400 bootstrap draws" in str(drawn)


def test_copies_of_rows_do_not_narrow_the_clustered_interval() -> None:
    frame = pairs(60).with_columns(instance=pl.int_range(pl.len()))
    copies = pl.concat([frame] * 5)
    one, five = (
        correlation(of, "x", "y", cluster=["instance"], draws=300) for of in (frame, copies)
    )
    assert (one.low, one.high) == pytest.approx((five.low, five.high), abs=0.05)


def test_a_straight_line_is_a_correlation_of_one() -> None:
    frame = pl.DataFrame({"x": [1.0, 2, 3, 4, 5], "y": [2.0, 4, 6, 8, 10], "instance": range(5)})
    for interval in ("fisher", "bootstrap"):
        found = correlation(frame, "x", "y", interval=interval, cluster=["instance"])
        assert (found.estimate, found.low, found.high) == pytest.approx((1, 1, 1))


def test_correlations_of_few_rows_have_no_interval() -> None:
    found = correlation(pairs(3), "x", "y", interval="fisher")
    assert found.low is found.high is None
    assert found.notes == ("3 rows are too few for an interval",)
    assert "3 rows are too few" in str(found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"x": "flat"}, '"flat" is 0.5 in every row'),
        ({"y": "profit"}, 'no column "profit" .* to correlate'),
        ({"method": "phi"}, "method must be one of pearson"),
        ({"level": 95}, "between 0 and 1, not 95"),
    ],
)
def test_correlations_say_what_they_lack(options: dict[str, Any], said: str) -> None:
    asked = {"x": "x", "y": "y", "cluster": ["instance"]} | options
    with pytest.raises((StatisticsError, ValueError), match=said):
        correlation(pairs(), **asked)


def test_correlations_need_three_rows_with_both() -> None:
    gaps = pairs().with_columns(x=pl.when(pl.col("instance") < 1).then("x"))
    with pytest.raises(StatisticsError, match='2 rows have both "x" and "y"'):
        correlation(gaps, "x", "y")


def test_players_on_instances_of_their_own_are_not_surely_apart_by_mirrored_scores() -> None:
    """Of two standardised scores in a configuration one is the other's negative.

    Where each player has one instance, only the spread between configurations tells the players
    apart, and 13 wins of 20 are no sign of a better player (p = 0.26).
    """
    rows = [
        (number, f"{player} {number}", player, sign * (1 if number < 13 else -1))
        for number in range(20)
        for player, sign in (("first", 1.0), ("second", -1.0))
    ]
    frame = pl.DataFrame(rows, ["configuration", "instance", "player", "z"], orient="row")
    found = rank_ranges(frame, "z", "player", strata=["configuration"], draws=200).frame
    assert found.select("group", "sure_low", "sure_high").rows() == [
        ("first", 1, 2), ("second", 1, 2)
    ]  # fmt: skip


def test_ranks_are_no_surer_than_participants_make_them() -> None:
    """Equal groups of eight participants, who stay alike over many instances, are not ranked."""
    draw = np.random.default_rng(4)
    sure = {None: 0, "people": 0}
    for _ in range(30):
        frame = pl.DataFrame({
            "instance": range(160), "who": ["a", "b"] * 80,
            "people": [[f"{at % 16}"] for at in range(160)],
            "x": np.tile(draw.normal(size=16), 10) + 0.3 * draw.normal(size=160),
        })  # fmt: skip
        for people in sure:
            ranks = rank_ranges(
                frame, "x", "who", cluster=["instance"], draws=100, people=people
            ).frame
            sure[people] += bool((ranks["sure_low"] == ranks["sure_high"]).all())
    assert sure["people"] <= 4 < 10 <= sure[None]
