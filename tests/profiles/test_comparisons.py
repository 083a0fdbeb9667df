"""Comparisons of two profiles: unique pairs, correct means, and few false changes."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.models.calls import ModelCall
from cheaptalk.models.scripted import SAYS, legal
from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.comparisons import Change, changes, finding_changes
from cheaptalk.profiles.gates import Decision, Verdict, decide, gate
from cheaptalk.profiles.metrics.definitions import ATTAINABLE, Quantity
from cheaptalk.profiles.page import Gated, held_parts
from cheaptalk.profiles.profiles import COUNTED, Number, Profile, detectable_effect, profile_of
from cheaptalk.profiles.weaknesses.weakness import Examination, Weakness
from cheaptalk.reports.charts.chart import Points
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.parts import Answer, Charts
from cheaptalk.reports.recipes.tables import Estimate
from tests.known import known


def pie(title: str, money: int, *, messages: bool = False) -> dict[str, Any]:
    fixed = {"money": money, "horizon": 3, "messages": messages}
    return {"title": title, "game": "bargaining", "fixed": fixed}


LATE = {"bargaining": "boulware"}
BATTERY = Battery.model_validate(
    {
        "name": "short-1",
        "sizes": {"small": 2},
        "panel": {
            "fair": {"meaning": "offers half", "player": "equal_split"},
            "hard": {"meaning": "gives way late", "player": {"strategies": LATE}},
        },
        "talkers": {
            "silent": {"strategy": "talker", "manner": "silent"},
            "deadline": {"strategy": "talker", "manner": "deadline"},
        },
        "parts": {"pie": pie("A pie", 100)},
        "words": {"pie-words": pie("A pie, with words", 200, messages=True)},
        "anew": {
            "pie-anew": {
                **pie("A pie, asked anew", 300),
                "instances": 2,
                "ways": {"words": {"style": "reworded"}, "scale": {"fixed": {"money": 900_000}}},
            }
        },
    }
)
"""A battery with all kinds of matches, some of which differ only in presentation."""


NO_EVIDENCE = cast(Evidence, None)
"""Gates and changes don't use evidence."""


def profile_of_agent(folder: Path, name: str) -> Profile:
    """Return the profile of ``script/echo``."""
    entry = ct.players.RosterEntry.model_validate({"model": "script/echo", "tries": 2})
    study = BATTERY.study(name, entry, "small")
    with ct.Store.open(folder / name, create=True) as store:
        ct.run(study, store, workers=1)
        return profile_of(store, study.name, name, entry, BATTERY, "small")


def failing_every(n: int) -> Any:
    """Return an agent that answers legally at random, but fails every n-th request."""
    requests = count(1)
    chosen = np.random.default_rng(n)

    def reply(call: ModelCall) -> str:
        if next(requests) % n == 0:
            return "no answer"
        if call.form is not None and call.form.name == "Reply":
            return json.dumps({"decision": chosen.choice(["accept", "reject"]).item()})
        return legal(call)

    return reply


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Profile, Profile]]:
    """Two versions of an agent under different names."""
    folder = tmp_path_factory.mktemp("versions")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SAYS, "echo", failing_every(7))
        before = profile_of_agent(folder, "firm-1")
        patch.setitem(SAYS, "echo", failing_every(3))
        yield before, profile_of_agent(folder, "firm-2")


def test_changes_equal_a_loop_over_exported_values(versions: tuple[Profile, Profile]) -> None:
    before, after = (json.loads(json.dumps(profile.as_json())) for profile in versions)
    compared = {change.key: change for change in changes(versions[1], before)}
    columns = before["values"]["columns"]
    checked = 0
    for key, rows in after["values"]["rows"].items():
        pairs = []
        for row in rows:
            twins = [
                other
                for other in before["values"]["rows"].get(key, [])
                if all(row[n] == other[n] for n, name in enumerate(columns) if name != "value")
            ]
            assert len(twins) <= 1
            pairs += [(twin[-1], row[-1]) for twin in twins]
        if not pairs:
            assert key not in compared
            continue
        checked += 1
        change = compared[key]
        assert change.before == pytest.approx(sum(was for was, _ in pairs) / len(pairs))
        assert change.after == pytest.approx(sum(now for _, now in pairs) / len(pairs))
        assert change.change.value == pytest.approx(sum(b - a for a, b in pairs) / len(pairs))
        assert change.change.n == len(pairs)
    assert {"valid", "steady.words", "steady.scale", "words.deadline", "exploited"} <= {*compared}
    assert checked == len(compared)


def synthetic(
    name: str,
    numbers: dict[str, np.ndarray[Any, Any]],
    *,
    draws: bool = True,
    strata: int = 1,
    unit: str = "share",
) -> Profile:
    """Return a profile with given values, one match and cluster each, in strata of equal size."""
    made = {}
    for key, values in numbers.items():
        n = len(values)
        frame = pl.DataFrame(
            {
                "player": [name] * n,
                "other": "fair",
                "seat": "alice",
                "match_id": map(str, range(n)),
                "game": "bargaining",
                "configuration": "c",
                "instance": [str(at) for at in range(n)],
                "way": "",
                "repeat": [0] * n,
                "draws": draws,
                "stratum": [str(at * strata // n) for at in range(n)],
                "cluster": [str(at) for at in range(n)],
                "value": values,
            }
        )
        of = Quantity(key, "earned", key, unit, "more", "", frame, (0.0, 1.0))
        made[key] = Number(of, Estimate(float(values.mean())), {})
    counts = dict.fromkeys(("tokens", *COUNTED), 0)
    row = {"player": name, "match_id": "0", **counts, "dollars": 0.0, "draws": draws}
    seats = pl.DataFrame([row])
    return Profile(name, BATTERY, "small", "study", seats, made)


def changes_since(before: Profile, after: Profile) -> list[Change]:
    """Return the changes since the file of an earlier profile."""
    return changes(after, json.loads(json.dumps(before.as_json())))


SPARSE = [0.0, 0.0, 0.06, -1.0, 0.03, -1.0, -0.11, 0.0, -0.02, 0.0, 0.0, 0.0]
"""Differences between two equal randomising agents, few of them large."""


def gate_decision(differences: list[float], written: str) -> Decision:
    """Decide a gate on the change of a number, in six strata of two clusters."""
    was = np.where(np.array(differences) < -0.5, 1.0, np.where(np.array(differences) > 0.5, 0, 0.3))
    before = synthetic("one", {"n": was}, strata=6)
    after = synthetic("two", {"n": was + differences}, strata=6)
    return decide(after, gate(written), changes_since(before, after))


def test_two_large_equal_differences_do_not_fail_a_gate() -> None:
    """Regression: both were in one stratum, and the interval of -0.17 excluded -0.1."""
    ordered = sorted(SPARSE)
    decision = gate_decision(ordered, "change.n >= -0.1")
    assert decision.verdict is Verdict.OPEN
    error = np.std(ordered, ddof=1) / len(ordered) ** 0.5
    assert known(known(decision.held).high) >= np.mean(ordered) + 2.2 * error


def test_equal_players_rarely_show_changes() -> None:
    chance = np.random.default_rng(1)
    false = 0
    for _ in range(12):
        before, after = (
            synthetic(name, {f"n{key}": chance.random(10) for key in range(10)})
            for name in ("one", "two")
        )
        false += any(change.significant for change in changes_since(before, after))
    assert false <= 2, "without a correction for ten metrics, 5 of 12 comparisons show a change"


def test_real_change_is_reported_among_unchanged_metrics() -> None:
    chance = np.random.default_rng(2)
    stayed = {f"n{key}": chance.random(40) for key in range(12)}
    low, high = chance.random(40) * 0.5, 0.4 + chance.random(40) * 0.5
    before = synthetic("one", {**stayed, "moved": low})
    after = synthetic(
        "two",
        {**{key: chance.permutation(values) for key, values in stayed.items()}, "moved": high},
    )
    compared = changes_since(before, after)
    assert [change.key for change in compared if change.significant] == ["moved"]


def test_constant_change_needs_six_instances_of_random_players() -> None:
    cases = ((True, 5, False), (True, 6, True), (False, 1, False), (False, 2, True))
    for draws, instances, significant in cases:
        before, after = (
            synthetic(name, {"earned": np.full(instances, value)}, draws=draws)
            for name, value in (("one", 0.25), ("two", 0.5))
        )
        (change,) = changes_since(before, after)
        assert (change.significant, change.change.error) == (significant, None)


def test_gate_is_decided_only_by_true_constants() -> None:
    unknown = "the metric never varied within a configuration, so its variation is unknown"
    for error, verdict, why in ((None, Verdict.OPEN, unknown), (0.0, Verdict.PASS, "")):
        made = synthetic("one", {"earned": np.full(4, 0.5)})
        earned = made.numbers["earned"]._replace(own=Estimate(0.5, error=error, clusters=4))
        profile = Profile("one", BATTERY, "small", "study", made.seats, {"earned": earned})
        decision = decide(profile, gate("earned >= 0.4"))
        assert (decision.verdict, decision.why) == (verdict, why)


def test_comparison_lists_new_and_vanished_findings() -> None:
    def examined(*keys: str) -> Profile:
        effect = Estimate(0.5)
        found = {key: key in keys for key in ("kept", "gone", "come")}
        weaknesses = [
            Weakness(key, f"does {key}", 12, "matches", f"{9 * hit} of 12", effect, 0.001, hit)
            for key, hit in found.items()
        ]
        made = synthetic("one", {"n": np.array([0.0, 1.0])})
        return replace(made, examination=Examination(weaknesses))

    before = json.loads(json.dumps(examined("kept", "gone").as_json()))
    after = examined("kept", "come")
    come, gone = finding_changes(after, before)
    assert str(come) == "new finding: does come (come); now: 9 of 12; before: not found, 0 of 12"
    assert str(gone) == (
        "no longer found: does gone (gone); now: not found, 0 of 12; before: 9 of 12"
    )
    held = Gated(since="one", changes=changes(after, before), findings=[come, gone])
    (part,) = held_parts(after, held)
    shown = [answer.text for answer in part.make(NO_EVIDENCE) if isinstance(answer, Answer)]
    assert shown[0] == f"New finding{str(come).removeprefix('new finding')}."
    assert "0 of 1 metric changed" in shown[-1]


def test_chart_marks_only_significant_changes() -> None:
    """Regression: a change within chance was drawn and captioned as a change."""
    stayed, moved = np.array([0.3, 0.31] * 5), np.array([0.3, 0.31] * 6)
    noise = {f"n{key}": moved for key in range(12)}
    before = synthetic("one", {**noise, "earned": stayed, "moved": moved}, unit=ATTAINABLE)
    later = {**noise, "earned": stayed + np.array([0.1] * 9 + [0.0]), "moved": moved + 0.2}
    after = synthetic("two", later, unit=ATTAINABLE)
    compared = changes_since(before, after)
    (part,) = held_parts(after, Gated(since="one", changes=compared))
    (charts,) = [chart for chart in part.make(NO_EVIDENCE) if isinstance(chart, Charts)]
    drawn = {
        layer.shape: [mark.y for mark in layer.marks]
        for layer in charts.panels[0].layers
        if isinstance(layer, Points)
    }
    by_key = {change.key: change for change in compared}
    assert (by_key["earned"].change.low or 0) > 0
    assert drawn["dot"] == ["moved"]
    assert "earned" in drawn["ring"]


def test_effect_beyond_metric_range_is_not_detectable() -> None:
    of = synthetic("one", {"n": np.array([0.5])}, unit=ATTAINABLE).number("n").of
    losing = of._replace(bounds=(-np.inf, 1.0))
    effects = [
        detectable_effect(Number(losing, Estimate(0.5, error=error, clusters=4), {}, freedom=2.0))
        for error in (0.05, 0.4)
    ]
    assert [effect is None for effect in effects] == [False, True]


def test_times_have_no_verdict_and_no_share_in_the_correction() -> None:
    chance = np.random.default_rng(3)
    low, high = chance.random(8), 2 + chance.random(8)
    before = synthetic("one", {"n": low / 4, "seconds.answer": low})
    after = synthetic("two", {"n": 0.7 + low / 4, "seconds.answer": high})
    number, time = changes_since(before, after)
    assert (number.significant, number.p, number.better) == (True, 2 / 2**8, True)
    assert (time.significant, time.p, time.better) == (False, None, None)
    assert str(time).startswith("seconds.answer (seconds): 0.")


def test_unchanged_metric_is_neither_better_nor_worse() -> None:
    before = synthetic("one", {"n": np.array([0.2, 0.4])})
    (same,) = changes(before, json.loads(json.dumps(before.as_json())))
    assert same.better is None
    assert str(same) == "n: 0.300 before, 0.300 now"


def test_outdated_file_format_is_rejected() -> None:
    after = synthetic("two", {"n": np.array([0.0, 1.0])})
    with pytest.raises(ct.CheaptalkError, match="has the outdated format 1"):
        changes(after, after.as_json() | {"format": 1})


def test_duplicate_values_in_file_are_rejected() -> None:
    after = synthetic("two", {"n": np.array([0.0, 1.0])})
    before = json.loads(json.dumps(after.as_json()))
    before["values"]["rows"]["n"] *= 2
    with pytest.raises(ct.CheaptalkError, match="n: the earlier profile has several values"):
        changes(after, before)


def test_metrics_and_changes_have_minimum_detectable_effects(
    versions: tuple[Profile, Profile],
) -> None:
    before, after = versions
    written = json.loads(json.dumps(after.as_json()))["numbers"]
    twins = [number for number in after.numbers.values() if number.of.twins]
    for key, number in after.numbers.items():
        assert written[key]["detectable"] == detectable_effect(number)
        assert number.level == (0.05 / len(twins) if number.of.twins else 0.05)
    earned = after.numbers["earned"]
    assert known(detectable_effect(earned)) > 2.8 * known(earned.own.error)
    assert known(detectable_effect(earned, 0.04)) > known(detectable_effect(earned, 0.05))
    compared = changes_since(before, after)
    assert any(change.detectable for change in compared)
    for change in compared:
        if change.significant and change.detectable is not None:
            assert change.p is not None
