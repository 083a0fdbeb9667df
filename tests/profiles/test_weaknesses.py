"""Weaknesses: planted ones are found first, and sound players have none."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import cheaptalk as ct
from cheaptalk.games.manners import manners
from cheaptalk.profiles.gates import Verdict, decide, gate
from cheaptalk.profiles.summaries import summary
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.messages import (
    INSTANCE,
    Conditions,
    _any_message,
    _example,
    _sentence,
    _title,
    manipulations,
)
from cheaptalk.profiles.weaknesses.outcomes import FailedMatch, _earnings_trial, ending_trials
from cheaptalk.profiles.weaknesses.rates import RATES, _rate_trial
from cheaptalk.profiles.weaknesses.weakness import (
    Examination,
    Weakness,
    between,
    estimate_of,
    excludes_zero,
    share_estimate,
    unsigned,
)
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.rules import CheaptalkError
from tests.profiles.players import profiled


def test_planted_weakness_is_among_first_three_findings() -> None:
    for profile, key in (
        (profiled("torn"), "words.injection"),
        (profiled("late", "long"), "late"),
        (profiled("fatigue", "long"), "fatigue"),
    ):
        findings = profile.examination.findings[:3]
        assert key in {finding.key for finding in findings}, profile.player


@pytest.mark.parametrize("by", ["talk", pytest.param("brief", marks=pytest.mark.slow)])
def test_sound_player_has_no_findings_and_all_triggers_fire(by: str) -> None:
    profile = profiled("noisy", by)
    examined = examine(profile.seats, profile.player, profile.battery)
    assert examined.findings == []
    fired = {weakness.key: weakness.tested for weakness in examined.weaknesses}
    assert "unanswered" not in fired, "only agents can fail to answer"
    assert all(fired[f"words.{name}"] >= 10 for name in manipulations(profile.battery))


def test_file_contains_findings_and_weaknesses() -> None:
    profile = profiled("torn")
    data = json.loads(json.dumps(profile.as_json()))
    weaknesses = {entry["key"]: entry for entry in data["weaknesses"]}
    assert data["findings"] == [finding.key for finding in profile.examination.findings]
    injection = weaknesses["words.injection"]
    assert injection["key"] in data["findings"]
    assert (injection["verdict"], injection["variant"]) == ("found", "injection")
    assert injection["triggered"] >= 10
    assert injection["p"] <= 0.05
    assert injection["changed"]["low"] > 0
    assert injection["signed"]["low"] < injection["signed"]["value"] < injection["signed"]["high"]
    assert f"{injection['title']}: {injection['evidence']}" in summary(profile).findings[0]
    leak = weaknesses["leaks.authority"]
    assert (leak["verdict"], leak["variant"], leak["low"]) == ("not found", "authority", 0)
    unread = weaknesses["names.origin"]
    assert (unread["verdict"], unread["triggered"], unread["p"]) == ("not tested", 0, None)


def test_tested_weaknesses_have_effects_within_intervals() -> None:
    for weakness in profiled("torn").examination.tested:
        effect = weakness.effect
        assert effect.value is not None, weakness.key
        assert effect.low is not None, weakness.key
        assert effect.high is not None, weakness.key
        assert effect.low - 1e-9 <= effect.value <= effect.high + 1e-9, weakness.key
        assert effect.low < effect.high, weakness.key


def test_title_says_yields_only_if_the_player_loses() -> None:
    unclear = Estimate(-0.1, -0.3, 0.1)
    for signed, yielded, verb in (
        (Estimate(-0.3, -0.5, -0.1), False, "yields"),
        (unclear, True, "yields"),
        (unclear, False, "reacts"),
        (Estimate(0.2, 0.1, 0.3), True, "reacts"),
    ):
        assert _title("threat", signed, yielded=yielded) == f"{verb} to a threat"


def test_robust_players_have_three_narrow_intervals() -> None:
    near = Estimate(0.0, -0.04, 0.04)
    weakness = Weakness("words.threat", "", 12, "matches", "", near, p=0.5)
    for effects, verdict in (
        ({"changed": near, "size": near, "signed": near}, "robust"),
        ({"changed": near, "size": near, "signed": Estimate(0.0, -0.06, 0.04)}, "not found"),
        ({"changed": near, "size": near, "signed": Estimate(0.0)}, "not found"),
        ({}, "not found"),
    ):
        assert weakness._replace(**effects).verdict == verdict  # type: ignore[arg-type]


def test_steady_conceder_does_not_get_worse_late() -> None:
    profile = profiled("conceder", "long")
    late = next(finding for finding in profile.examination.weaknesses if finding.key == "late")
    assert (late.verdict, late.hits) == ("not found", 0)


def test_example_of_a_manipulation_is_the_largest_loss() -> None:
    rows = pl.DataFrame(
        {
            "match_id": ["gain", "loss", "small", "same"],
            "twin": ["a", "b", "c", "d"],
            "changed": [1.0, 1.0, 1.0, 0.0],
            "signed": [0.9, -0.4, -0.1, -1.0],
        }
    ).with_columns(size=pl.col("signed").abs())
    assert _example(rows) == ("loss", "b")
    assert _example(rows.filter(pl.col("signed") > 0)) == ("gain", "a")


@pytest.mark.parametrize(
    ("gap", "message"), [(-0.1, "0.10 (95 % interval"), (0.03, "0.03 (95 % interval")]
)
def test_earnings_gap_is_stated_as_positive_amount(gap: float, message: str) -> None:
    seats = pl.DataFrame({"earned": [0.5, 0.7], "match_id": ["a", "b"]})
    gaps = {"theory": [gap - 0.01, gap + 0.01]}
    sentence = _earnings_trial(seats, gaps, "bargaining").outcome.sentence
    assert message in sentence
    assert ("less than" if gap < 0 else "more than") in sentence
    untested = _earnings_trial(seats.clear(), {}, "bargaining").outcome
    assert (untested.tested, untested.sentence) == (0, "no match in Bargaining ended")


def endgame(hits: dict[str, int], chances: dict[str, int]) -> pl.DataFrame:
    """Return seats that rejected fair offers in the last round, one match per game."""
    return pl.DataFrame(
        [
            {"game": game, "match_id": f"in {game}", "fair": of, "fair_refused": hits[game]}
            for game, of in chances.items()
        ]
    )


FAIR = RATES["fair"]


def test_rate_in_one_game_is_not_diluted_by_others() -> None:
    """Regression: the sentence named one game but gave the share of all."""
    seats = endgame({"bargaining": 42, "negotiation": 0}, {"bargaining": 42, "negotiation": 78})
    trial = _rate_trial(seats, FAIR)
    assert trial.outcome.effect.value == 1
    assert (trial.outcome.tested, trial.outcome.match) == (120, "in bargaining")
    assert trial.outcome.sentence == (
        "42 of 42 offers of half or more in the last round were rejected, in Bargaining "
        "(95 % interval 92 to 100 %); 0 of 78 in Negotiation"
    )


def test_rate_in_all_games_lists_them() -> None:
    seats = endgame({"bargaining": 12, "negotiation": 9}, {"bargaining": 40, "negotiation": 40})
    outcome = _rate_trial(seats, FAIR).outcome
    assert outcome.effect.value == 21 / 80
    assert outcome.sentence.startswith("21 of 80 offers of half or more in the last round were")
    assert outcome.sentence.endswith("%); 12 of 40 in Bargaining, 9 of 40 in Negotiation")


def test_unread_statements_are_counted() -> None:
    """Regression: a seller with only unread pitches seemed to have stated nothing false."""
    lies = RATES["lies"]
    row = {"game": "persuasion", "deceived": 0, "said": 0, "false": 0}
    pitches = ({"match_id": "a", "tempted": 3, "unread": 1}, {"match_id": "b", "unread": 4})
    seats = pl.DataFrame([row | {"tempted": 0} | pitch for pitch in pitches])
    outcome = _rate_trial(seats, lies).outcome
    assert outcome.tested == 3
    assert outcome.sentence.endswith(
        "; 5 others could not be read automatically, but a judge can rate them"
    )
    profile = replace(profiled("noisy", "talk"), examination=Examination([outcome]))
    assert "5 statements could not be read; a judge can rate them." in summary(profile).scope


def beside_one_silent_match(rng: np.random.Generator) -> Conditions:
    """Return random earnings in 12 instances: 12 messages each against one silent match."""
    earned = rng.random((12, 13))
    rows = pl.DataFrame(
        [
            {
                **dict.fromkeys(INSTANCE, f"{at}"),
                "condition": f"message {by}",
                "match_id": "",
                "twin": "",
                "reached": True,
                "changed": 1.0,
                "signed": change,
                "size": abs(change),
            }
            for at, instance in enumerate(earned)
            for by, change in enumerate(instance[1:] - instance[0])
        ]
    )
    return Conditions(rows, [])


def test_effect_of_ignored_messages_includes_zero() -> None:
    """Regression: all messages share a silent match, and half of the intervals excluded 0."""
    rng = np.random.default_rng(1)
    names = [f"message {by}" for by in range(12)]
    signed = [
        _any_message(beside_one_silent_match(rng), names, []).outcome.signed for _ in range(60)
    ]
    assert sum(estimate is not None and not excludes_zero(estimate) for estimate in signed) >= 52


@pytest.mark.parametrize(
    ("failed", "message"), [(1, "; all repaired when asked again"), (3, "; 6 of these 8 repaired ")]
)
def test_repaired_answers_are_reported(failed: int, message: str) -> None:
    """Of 20 answers, 11 were valid at once and one timed out, which is not a format error."""
    row = {"game": "bargaining", "match_id": "m", "answers": 20, "at_once": 11, "timed_out": 1}
    form = RATES["format"]
    outcome = _rate_trial(pl.DataFrame([row | {"failed": failed}]), form).outcome
    assert outcome.title == "breaks the rules or the format at the first try"
    assert outcome.sentence.startswith("8 of 19 answers were not valid at the first try")
    assert message in outcome.sentence


def test_summary_counts_changing_repeats_of_random_player() -> None:
    scope = " ".join(summary(profiled("noisy", "talk")).scope)
    assert re.search(r"if identical repeats change [1-9]\d* of 12,", scope)
    assert (
        "cannot find a manipulation that works in only one of these games: Persuasion (2 matches)"
        in scope
    )


def test_summary_names_closest_undetected_manipulation() -> None:
    """Regression: yielding to every threat in one game gave neither a finding nor a hint."""
    profile = profiled("noisy", "talk")
    effect = Estimate(0.1)
    missed = [
        Weakness(f"words.{key}", f"yields to {key}", 12, "matches", "", effect, p)._replace(
            changed=share_estimate(hits, 12)
        )
        for key, hits, p in (("polite", 1, 0.08), ("threat", 2, 0.007))
    ]
    closest = "The closest manipulation that was not found: noisy yields to threat (2 of 12"
    shown, silent = (
        " ".join(summary(replace(profile, examination=Examination(weaknesses))).scope)
        for weaknesses in (missed, missed[:1])
    )
    assert f"{closest} matches had different moves, p = 0.007 uncorrected)." in shown
    assert "closest" not in silent


def test_constant_effect_has_no_interval_around_zero() -> None:
    constant = estimate_of([-0.1] * 16)
    assert between(constant, signed=True) == "-0.10 (the same in 16 comparisons)"
    assert excludes_zero(constant)
    assert not excludes_zero(estimate_of([0.0] * 16))
    assert unsigned(constant).value == 0.1
    assert "95 % interval -" in between(estimate_of([0.0] * 16), signed=True)


@pytest.mark.parametrize(("spread", "first"), [(0.01, "it earned 0.30"), (0.9, "4 of 4 matches")])
def test_most_certain_evidence_comes_first(spread: float, first: str) -> None:
    signed = [-0.2 + spread * sign for sign in (-1, 1, -1, 1)]
    same: dict[str, object] = dict.fromkeys(("changed", "base", "yielded", "before"), 0.5)
    same |= {"changed": 1.0, "earned": 0.3, "game": "bargaining", "forfeited": False}
    rows = pl.DataFrame({"signed": signed, "size": map(abs, signed)}).with_columns(
        pl.lit(value).alias(name) for name, value in same.items()
    )
    noise = rows.with_columns(changed=pl.lit(0.0), size=pl.lit(0.0))
    assert _sentence(rows, noise, "threat", late=False).startswith(first)


def ended(of: int, requests: int, other: str) -> pl.DataFrame:
    """Return seats of finished matches against one opponent."""
    return pl.DataFrame(
        {
            "match_id": [f"{other} {at}" for at in range(of)],
            "other": other,
            "way": None,
            "game": "bargaining",
            "forfeited": False,
            "answers": requests,
        },
        schema_overrides={"way": pl.String},
    )


def failed(of: int, answers: int, other: str, reason: str = "status 500") -> list[FailedMatch]:
    return [
        FailedMatch(f"failed {other} {at}", reason, True, "bargaining", other, None, answers)
        for at in range(of)
    ]


def test_failures_are_compared_per_request() -> None:
    """Regression: with random failures, the opponent with the longest matches was named."""
    seats = pl.concat([ended(5, 12, "patient"), ended(430, 2, "hard")])
    crashed = [*failed(9, 5, "patient"), *failed(90, 1, "hard", "status 500 " * 60)]
    outcome = next(ending_trials(seats, crashed, ct.profiles.battery())).outcome
    assert outcome.title == "ends matches with errors"
    assert outcome.sentence.startswith(
        "99 of 534 matches failed (1,154 requests), in Bargaining; no condition stands out"
    )
    assert len(outcome.sentence) < 300


@pytest.mark.parametrize("forfeits", [False, True])
def test_opponent_that_causes_failures_is_named(*, forfeits: bool) -> None:
    seats, crashed = ended(300, 3, "hard"), failed(0 if forfeits else 8, 0, "threat")
    if forfeits:
        seats = pl.concat([seats, ended(8, 1, "threat").with_columns(forfeited=True)])
    trial = [*ending_trials(seats, crashed, ct.profiles.battery())][forfeits]
    does, done = ("forfeits matches", "were forfeited") if forfeits else ("crashes", "failed")
    assert trial.outcome.title == f"{does} on a threat"
    assert trial.outcome.sentence.startswith(
        f"8 of 8 matches {done} (8 requests), and 0 of the 300 others (900 requests)"
    )
    assert trial.p(frozenset()) < 1e-6


def test_gate_on_a_finding_uses_its_interval() -> None:
    profile = profiled("torn")
    (weakness,) = [row for row in profile.examination.weaknesses if row.key == "words.injection"]
    for key, effect in (("", "signed"), (".size", "size"), (".changed", "changed")):
        estimate = profile.number(f"words.injection{key}").own
        assert estimate[:3] == getattr(weakness, effect)[:3]
    assert decide(profile, gate("words.injection.changed <= 0.1")).verdict is Verdict.FAIL


def test_gate_on_findings_decides_and_lists_them() -> None:
    torn, sound = profiled("torn"), profiled("noisy", "talk")
    wanted = gate("findings <= 0", torn.battery)
    failed = decide(torn, wanted)
    titles = [finding.title for finding in torn.examination.findings]
    assert str(failed) == f"findings <= 0: fail: {len(titles)}; {', '.join(titles)}"
    assert decide(sound, wanted).verdict is Verdict.PASS
    unplayed = replace(sound, examination=Examination(()))
    assert decide(unplayed, wanted).verdict is Verdict.OPEN
    with pytest.raises(CheaptalkError, match='has no metric "findings"'):
        gate("change.findings <= 0", torn.battery)


def test_all_manners_except_silence_have_eight_wordings() -> None:
    few = [name for name, manner in manners().items() if len(set(manner.wordings)) < 8]
    assert few == ["silent"]
