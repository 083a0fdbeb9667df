"""Gates: the size that decides an open gate."""

import re

import numpy as np
import polars as pl
import pytest

from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.gates import Decision, Verdict, decide, gate
from cheaptalk.profiles.metrics.definitions import Quantity
from cheaptalk.profiles.profiles import Number, Profile, _number
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from cheaptalk.rules.bounds import COUNT
from cheaptalk.statistics import mean_intervals
from tests.known import known

SIZES = {"small": 1, "standard": 5, "large": 25}
BATTERY = Battery.model_validate(
    {
        "name": "sized-1",
        "sizes": SIZES,
        "panel": {"fair": {"meaning": "offers half", "player": "equal_split"}},
        "parts": {"pie": {"title": "A pie", "game": "bargaining", "fixed": {"money": 100}}},
    }
)


def decision_on(values: list[float], size: str, written: str) -> Decision:
    """Return the decision on a gate on a share with a value per instance."""
    frame = pl.DataFrame({"value": values, "cluster": range(len(values))})
    row = mean_intervals(frame, ["value"], cluster=["cluster"], bounds={"value": (0.0, 1.0)}).row(
        0, named=True
    )
    estimate = Estimate.of_mean(row)
    of = Quantity("earned", "earned", "Earned", "share", "more", "", frame, (0.0, 1.0))
    seats = pl.DataFrame({"player": ["one"], "match_id": ["0"]})
    number = Number(of, estimate, {}, freedom=row["freedom"])
    return decide(Profile("one", BATTERY, size, "study", seats, {"earned": number}), gate(written))


def spread(count: int, mean: float, deviation: float) -> list[float]:
    """Return values with a mean and a deviation, without skew."""
    signs = np.tile([-1.0, 1.0], count // 2)
    return [*(mean + deviation * signs)]


def test_interval_of_few_instances_is_not_extrapolated() -> None:
    few = "has too few instances to estimate which size can decide this gate"
    for size, more in (("small", "; try --size standard"), ("large", ", and no size has more")):
        decision = decision_on(spread(6, 0.531, 0.15), size, "earned >= 0.5")
        assert decision.verdict is Verdict.OPEN
        assert known(decision.held).wanted is not None
        assert decision.cure == f"{size} {few}{more}"


def test_few_binary_values_are_not_extrapolated() -> None:
    decision = decision_on([0.0, 1.0] * 5, "small", "earned >= 0.49")
    assert known(decision.held).wanted is None
    assert "too few instances" in decision.cure


def test_suggested_size_is_the_smallest_that_decides() -> None:
    for deviation in [0.09, 0.19, 0.24, 0.49]:
        wanted = "earned >= 0.49"
        decision = decision_on(spread(30, 0.5, deviation), "small", wanted)
        assert decision.verdict is Verdict.OPEN
        larger = {
            size: decision_on(spread(30 * SIZES[size], 0.5, deviation), size, wanted).verdict
            for size in ("standard", "large")
        }
        deciding = [size for size, verdict in larger.items() if verdict is Verdict.PASS]
        assert decision.size == next(iter(deciding), None)
        assert re.search("no size|--size", decision.cure)


def test_constant_value_is_extrapolated_to_the_deciding_size() -> None:
    never = [0.0] * 18
    assert decision_on(never, "small", "earned <= 0.05").cure == (
        "if the mean stays the same, --size standard can decide this gate"
    )
    assert decision_on(never * 5, "standard", "earned <= 0.05").verdict is Verdict.PASS
    assert "too few instances" in decision_on(never, "small", "earned <= 0.001").cure


def test_count_constant_within_configurations_decides() -> None:
    """Regression: six ones in two configurations and 82 zeros in others counted as constant."""
    values = [0.0] * 82 + [1.0] * 6
    row = {"player": "one", "configuration": "c", "seat": "alice"}
    frame = pl.DataFrame(
        [
            {**row, "value": value, "stratum": str(at // 2), "cluster": str(at)}
            for at, value in enumerate(values)
        ]
    )
    of = Quantity("losses", "mistakes", "Losses", "times a match", "less", "", frame, COUNT)
    number = known(_number(of, "one", BATTERY, frame.select("player", "seat", "configuration")))
    seats = pl.DataFrame({"player": ["one"], "match_id": ["0"]})
    profile = Profile("one", BATTERY, "small", "study", seats, {"losses": number})
    assert decide(profile, gate("losses <= 0.01")).verdict is Verdict.FAIL


def test_extrapolation_narrows_the_quantile_too() -> None:
    """Regression: extrapolation by the number of instances only found standard too small."""
    values = spread(26, 0.5, 0.2)
    reach = 0.5 - known(known(decision_on(values, "small", "earned >= 0.5").held).low)
    assert decision_on(values, "small", f"earned >= {0.5 - 0.438 * reach}").size == "standard"
    assert decision_on(values, "small", f"earned >= {0.5 - 0.41 * reach}").size == "large"


def test_trivial_gate_on_findings_is_rejected() -> None:
    for written, result in [("findings >= 0", "pass"), ("findings <= -1", "fail")]:
        with pytest.raises(CheaptalkError, match=f"would always {result}.*write findings <= 0"):
            gate(written)
        assert gate("findings <= 3").limit == 3
