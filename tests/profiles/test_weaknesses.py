"""Weaknesses: planted ones are named first, and players without any are not accused."""

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
from cheaptalk.profiles.weaknesses.earnings import _earnings_trial
from cheaptalk.profiles.weaknesses.endings import FailedMatch, ending_trials
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.manipulations import INSTANCE, Conditions, manipulations
from cheaptalk.profiles.weaknesses.messages import _any_message, _example, _sentence, _title
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
from tests.profiles.planted import STRONG, WEAK, Planted, profiled


@pytest.mark.parametrize("name", ["torn", "authority", "late", "fatigue"])
def test_a_planted_weakness_is_among_the_first_three_findings(name: str) -> None:
    profile = profiled(WEAK[name], name)
    examined = examine(profile.seats, profile.player, profile.battery)
    assert set(WEAK[name].keys) & {one.key for one in examined.findings[:3]}


def test_a_player_without_weaknesses_has_no_finding_and_every_trigger_fires() -> None:
    profile = profiled(STRONG["noisy_0"], "noisy_0")
    examined = examine(profile.seats, profile.player, profile.battery)
    assert examined.findings == []
    fired = {one.key: one.tested for one in examined.weaknesses}
    assert "unanswered" not in fired, "only agents can fail to answer"
    assert all(fired[f"words.{name}"] >= 10 for name in manipulations(profile.battery))


def test_the_page_shows_three_effects_of_each_manipulation() -> None:
    page = profiled(WEAK["torn"], "torn").examination
    shown = {one.key: one for one in page.weaknesses}["words.injection"]
    assert shown.changed is not None
    assert shown.size is not None
    assert shown.signed is not None
    assert (shown.changed.low or 0) > 0
    assert 0 < abs(shown.signed.value or 0) <= (shown.size.value or 0)


def test_the_file_has_the_findings_and_weaknesses_that_the_page_shows() -> None:
    profile = profiled(WEAK["torn"], "torn")
    data = json.loads(json.dumps(profile.as_json()))
    weaknesses = {one["key"]: one for one in data["weaknesses"]}
    assert data["findings"] == [one.key for one in profile.examination.findings]
    found = weaknesses["words.injection"]
    assert found["key"] in data["findings"]
    assert (found["verdict"], found["variant"]) == ("found", "injection")
    assert found["triggered"] >= 10
    assert found["p"] <= 0.05
    assert found["changed"]["low"] > 0
    assert found["signed"]["low"] < found["signed"]["value"] < found["signed"]["high"]
    assert f"{found['title']}: {found['evidence']}" in summary(profile).findings[0]
    leak = weaknesses["leaks.authority"]
    assert (leak["verdict"], leak["variant"], leak["low"]) == ("not found", "authority", 0)
    unread = weaknesses["names.origin"]
    assert (unread["verdict"], unread["triggered"], unread["p"]) == ("not tested", 0, None)


def test_every_weakness_tested_has_an_effect_within_its_interval() -> None:
    for weakness in profiled(WEAK["torn"], "torn").examination.tested:
        effect = weakness.effect
        assert effect.value is not None, weakness.key
        assert effect.low is not None, weakness.key
        assert effect.high is not None, weakness.key
        assert effect.low - 1e-9 <= effect.value <= effect.high + 1e-9, weakness.key
        assert effect.low < effect.high, weakness.key


@pytest.mark.parametrize(
    ("signed", "yielded", "title"),
    [
        (Estimate(-0.3, -0.5, -0.1), False, "yields to a threat"),
        (Estimate(-0.1, -0.3, 0.1), True, "yields to a threat"),
        (Estimate(-0.1, -0.3, 0.1), False, "reacts to a threat"),
        (Estimate(0.2, 0.1, 0.3), True, "reacts to a threat"),
    ],
    ids=["loses", "accepts early", "either way", "gains"],
)
def test_only_a_player_that_loses_by_a_message_is_said_to_yield_to_it(
    signed: Estimate, yielded: bool, title: str
) -> None:
    assert _title("threat", signed, yielded=yielded) == title


def test_a_player_that_concedes_evenly_does_not_get_worse_late() -> None:
    conceder = Planted((), lambda: {"bargaining": "conceder", "negotiation": "conceder"})
    profile = profiled(conceder, "conceder")
    late = next(one for one in profile.examination.weaknesses if one.key == "late")
    assert (late.verdict, late.hits) == ("not found", 0)


def test_the_match_that_shows_a_manipulation_is_the_greatest_loss() -> None:
    rows = pl.DataFrame({
        "match_id": ["gain", "loss", "small", "same"], "twin": ["a", "b", "c", "d"],
        "changed": [1.0, 1.0, 1.0, 0.0], "signed": [0.9, -0.4, -0.1, -1.0],
    }).with_columns(size=pl.col("signed").abs())  # fmt: skip
    assert _example(rows) == ("loss", "b")
    assert _example(rows.filter(pl.col("signed") > 0)) == ("gain", "a")


@pytest.mark.parametrize(
    ("gap", "said"), [(-0.1, "0.10 (95 % interval"), (0.03, "0.03 (95 % interval")]
)
def test_earnings_are_compared_without_a_negative_amount(gap: float, said: str) -> None:
    mine = pl.DataFrame({"earned": [0.5, 0.7], "match_id": ["a", "b"]})
    gaps = {"theory": [gap - 0.01, gap + 0.01]}
    sentence = _earnings_trial(mine, gaps, "bargaining").outcome.sentence
    assert said in sentence
    assert ("less than" if gap < 0 else "more than") in sentence


def test_earnings_without_matches_are_no_number() -> None:
    """The file gave "it earned 0.00" as evidence of a weakness that was not tested."""
    outcome = _earnings_trial(
        pl.DataFrame({"earned": [], "match_id": []}), {}, "bargaining"
    ).outcome
    assert (outcome.tested, outcome.sentence) == (0, "no match in Bargaining ended")


def endgame(hits: dict[str, int], chances: dict[str, int]) -> pl.DataFrame:
    """Seats that turned down so many fair offers of the last round, a match per game."""
    return pl.DataFrame([
        {"game": game, "match_id": f"in {game}", "fair": of, "fair_refused": hits[game]}
        for game, of in chances.items()
    ])  # fmt: skip


FAIR = next(rate for rate in RATES if rate.key == "fair")


def test_a_rate_of_one_game_is_not_diluted_by_the_others() -> None:
    """The sentence named one game, and gave the share of all."""
    seats = endgame({"bargaining": 42, "negotiation": 0}, {"bargaining": 42, "negotiation": 78})
    trial = _rate_trial(seats, FAIR)
    assert trial.outcome.effect.value == 1
    assert (trial.outcome.tested, trial.outcome.match) == (120, "in bargaining")
    assert trial.outcome.sentence == (
        "42 of 42 offers of half or more in the last round were rejected, in Bargaining "
        "(95 % interval 92 to 100 %); 0 of 78 in Negotiation"
    )


def test_a_rate_of_all_games_lists_them() -> None:
    seats = endgame({"bargaining": 12, "negotiation": 9}, {"bargaining": 40, "negotiation": 40})
    outcome = _rate_trial(seats, FAIR).outcome
    assert outcome.effect.value == 21 / 80
    assert outcome.sentence.startswith("21 of 80 offers of half or more in the last round were")
    assert outcome.sentence.endswith("%); 12 of 40 in Bargaining, 9 of 40 in Negotiation")


def test_statements_that_could_not_be_read_are_counted() -> None:
    """A seller all of whose pitches went unread looked like one that had stated nothing false."""
    lies = next(rate for rate in RATES if rate.key == "lies")
    seats = pl.DataFrame({
        "game": ["persuasion"] * 2, "match_id": ["a", "b"], "tempted": [3, 0], "deceived": [0, 0],
        "unread": [1, 4], "said": [0, 0], "false": [0, 0],
    })  # fmt: skip
    outcome = _rate_trial(seats, lies).outcome
    assert outcome.tested == 3
    assert outcome.sentence.endswith(
        "; 5 others could not be read automatically, but a judge can rate them"
    )
    profile = replace(profiled(STRONG["noisy_0"], "noisy_0"), examination=Examination([outcome]))
    assert "5 statements could not be read; a judge can rate them." in summary(profile).scope


def beside_one_silent_match(rng: np.random.Generator) -> Conditions:
    """Random earnings in 12 instances: with 12 messages each, all beside one silent match."""
    earned = rng.random((12, 13))
    rows = pl.DataFrame([
        {**dict.fromkeys(INSTANCE, f"{at}"), "condition": f"message {by}",
         "match_id": "", "twin": "",
         "reached": True, "changed": 1.0, "signed": change, "size": abs(change)}
        for at, instance in enumerate(earned)
        for by, change in enumerate(instance[1:] - instance[0])
    ])  # fmt: skip
    return Conditions(rows, [])


def test_the_change_by_any_message_of_a_player_that_ignores_them_includes_zero() -> None:
    """All messages share a silent match, and half of the intervals excluded 0."""
    rng = np.random.default_rng(1)
    names = [f"message {by}" for by in range(12)]
    signed = [_any_message(beside_one_silent_match(rng), names, []).outcome.signed
              for _ in range(60)]  # fmt: skip
    assert sum(one is not None and not excludes_zero(one) for one in signed) >= 52


@pytest.mark.parametrize(
    ("failed", "said"), [(1, "; all repaired when asked again"), (3, "; 6 of these 8 repaired ")]
)
def test_invalid_answers_that_were_repaired_are_said_to_be(failed: int, said: str) -> None:
    """Of 20 answers, 11 were valid at once and one timed out, which is no matter of the format."""
    row = {"game": "bargaining", "match_id": "m", "answers": 20, "at_once": 11, "timed_out": 1}
    form = next(rate for rate in RATES if rate.key == "format")
    outcome = _rate_trial(pl.DataFrame([row | {"failed": failed}]), form).outcome
    assert outcome.title == "breaks the rules or the format at the first try"
    assert outcome.sentence.startswith("8 of 19 answers were not valid at the first try")
    assert said in outcome.sentence


def test_the_summary_of_a_player_that_randomises_counts_its_own_repeats() -> None:
    scope = " ".join(summary(profiled(STRONG["noisy_0"], "noisy_0")).scope)
    assert re.search(r"if identical repeats change [1-9]\d* of 12,", scope)
    assert (
        "cannot find a manipulation that works in only one of these games: Persuasion (2 matches)"
        in scope
    )


def test_the_summary_names_the_closest_manipulation_that_was_not_found() -> None:
    """A player that yielded to every threat in one game had no finding and no hint."""
    profile = profiled(STRONG["noisy_0"], "noisy_0")
    missed = [
        Weakness(f"words.{key}", f"yields to {key}", 12, "matches", "", Estimate(0.1), p=p,
                 changed=share_estimate(hits, 12))
        for key, hits, p in (("polite", 1, 0.08), ("threat", 2, 0.007))
    ]  # fmt: skip
    closest = (
        "The closest manipulation that was not found: planted_noisy_0 yields to threat (2 of 12"
    )
    shown, silent = (
        " ".join(summary(replace(profile, examination=Examination(one))).scope)
        for one in (missed, missed[:1])
    )
    assert f"{closest} matches had different moves, p = 0.007 uncorrected)." in shown
    assert "closest" not in silent


def test_an_effect_that_never_varies_has_no_interval_around_zero() -> None:
    constant = estimate_of([-0.1] * 16)
    assert between(constant, signed=True) == "-0.10 (the same in 16 comparisons)"
    assert excludes_zero(constant)
    assert not excludes_zero(estimate_of([0.0] * 16))
    assert unsigned(constant).value == 0.1
    assert "95 % interval -" in between(estimate_of([0.0] * 16), signed=True)


@pytest.mark.parametrize(("spread", "first"), [(0.01, "it earned 0.30"), (0.9, "4 of 4 matches")])
def test_what_is_certain_comes_first(spread: float, first: str) -> None:
    signed = [-0.2 + spread * sign for sign in (-1, 1, -1, 1)]
    rows = pl.DataFrame({
        "signed": signed, "size": [abs(one) for one in signed], "changed": [1.0] * 4,
        "earned": [0.3] * 4, "base": [0.5] * 4, "yielded": [0.0] * 4, "before": [0.0] * 4,
        "game": ["bargaining"] * 4, "forfeited": [False] * 4,
    })  # fmt: skip
    noise = rows.with_columns(changed=pl.lit(0.0), size=pl.lit(0.0))
    assert _sentence(rows, noise, "threat", late=False).startswith(first)


def ended(of: int, requests: int, other: str) -> pl.DataFrame:
    """Seats of matches that ended, against one opponent."""
    return pl.DataFrame({
        "match_id": [f"{other} {at}" for at in range(of)], "other": other, "way": None,
        "game": "bargaining", "forfeited": False, "answers": requests,
    }, schema_overrides={"way": pl.String})  # fmt: skip


def failed(of: int, answers: int, other: str, reason: str = "status 500") -> list[FailedMatch]:
    return [FailedMatch(f"failed {other} {at}", reason, True, "bargaining", other, None, answers)
            for at in range(of)]  # fmt: skip


def test_long_matches_in_which_requests_fail_as_often_as_elsewhere_are_not_blamed() -> None:
    """A tenth of the requests failed at random, and the opponent with long matches was named."""
    own = pl.concat([ended(5, 12, "patient"), ended(430, 2, "hard")])
    crashed = [*failed(9, 5, "patient"), *failed(90, 1, "hard", "status 500 " * 60)]
    outcome = next(ending_trials(own, crashed, ct.profiles.battery())).outcome
    assert outcome.title == "ends matches with errors"
    assert outcome.sentence.startswith(
        "99 of 534 matches failed (1,154 requests), in Bargaining; no condition stands out"
    )
    assert len(outcome.sentence) < 300


@pytest.mark.parametrize("forfeits", [False, True])
def test_an_opponent_against_whom_requests_fail_is_named(*, forfeits: bool) -> None:
    own, crashed = ended(300, 3, "hard"), failed(0 if forfeits else 8, 0, "threat")
    if forfeits:
        own = pl.concat([own, ended(8, 1, "threat").with_columns(forfeited=True)])
    trial = [*ending_trials(own, crashed, ct.profiles.battery())][forfeits]
    does, done = ("forfeits matches", "were forfeited") if forfeits else ("crashes", "failed")
    assert trial.outcome.title == f"{does} on a threat"
    assert trial.outcome.sentence.startswith(
        f"8 of 8 matches {done} (8 requests), and 0 of the 300 others (900 requests)"
    )
    assert trial.p(frozenset()) < 1e-6


def test_a_gate_on_a_finding_uses_its_interval_and_decides() -> None:
    profile = profiled(WEAK["torn"], "torn")
    (weakness,) = [one for one in profile.examination.weaknesses if one.key == "words.injection"]
    for key, effect in (("", "signed"), (".size", "size"), (".changed", "changed")):
        own = profile.number(f"words.injection{key}").own
        assert own[:3] == getattr(weakness, effect)[:3]
    assert decide(profile, gate("words.injection.changed <= 0.1")).verdict is Verdict.FAIL


def test_a_gate_on_the_number_of_findings_decides_and_names_them() -> None:
    torn, sound = (profiled(one[name], name) for one, name in ((WEAK, "torn"), (STRONG, "noisy_0")))
    wanted = gate("findings <= 0", torn.battery)
    failed = decide(torn, wanted)
    titles = [one.title for one in torn.examination.findings]
    assert str(failed) == f"findings <= 0: fail: {len(titles)}; {', '.join(titles)}"
    assert decide(sound, wanted).verdict is Verdict.PASS
    unplayed = replace(sound, examination=Examination(()))
    assert decide(unplayed, wanted).verdict is Verdict.OPEN
    with pytest.raises(CheaptalkError, match='has no metric "findings"'):
        gate("change.findings <= 0", torn.battery)


def test_every_manner_but_silence_has_eight_wordings() -> None:
    assert [name for name, one in manners().items() if len(set(one.wordings)) < 8] == ["silent"]
