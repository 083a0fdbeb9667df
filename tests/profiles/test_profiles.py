"""Profiles: each fault is detected by its own metric, and intervals decide gates."""

import hashlib
import json
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import cheaptalk as ct
from cheaptalk.models.calls import ModelCall
from cheaptalk.models.scripted import SAYS, legal
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import BUILT_IN, Battery, Part, battery
from cheaptalk.profiles.comparisons import changes
from cheaptalk.profiles.gates import Verdict, decide, exit_status, gate
from cheaptalk.profiles.highlights import highlight
from cheaptalk.profiles.metrics.definitions import known_keys
from cheaptalk.profiles.page import Gated, write_profile
from cheaptalk.profiles.profiles import Profile, profile_of
from cheaptalk.profiles.summaries import interval_text, summary
from cheaptalk.profiles.weaknesses.messages import manipulations
from cheaptalk.reports.recipes.tables import Estimate
from cheaptalk.studies import Plan
from tests.known import known
from tests.profiles.players import (
    FAULTY,
    FEW,
    PANEL,
    PARTS,
    SILENT,
    SOUND,
    STANDARD,
    VAIN,
    profile_by,
    profiled,
    reduced,
)


def values_of(profile: Profile) -> Mapping[str, float]:
    """Return a player's values by key."""
    return {key: number.own.value or 0.0 for key, number in profile.numbers.items()}


def test_small_battery_takes_few_calls(store: ct.Store) -> None:
    entry = RosterEntry.model_validate({"model": "script/legal"})
    plan = ct.plan(STANDARD.study("model", entry, "small"))
    played = [
        match
        for match in plan.matches
        if any(player.label.startswith("model") for player in match.seating)
    ]
    assert 400 <= len(played) <= 580
    kinds = ct.run(Plan.of(plan.study, played[::4]), store).kinds
    answers = sum(kinds[label].total() for label in kinds if label.startswith("model"))
    assert len(played) < 4 * answers <= 1_250


SIGNS = (
    *("words.flattering", "words.injection", "leaks.silent", "leaks.authority", "truthful"),
    *("losses", "steady.foreign", "steady.scale", "steady.order", "failed"),
)
"""Metrics that each identify one fault."""


def signs(name: str) -> set[str]:
    """Return the signs in which a player differs significantly from the sound one."""
    before = json.loads(json.dumps(profiled("sound").as_json()))
    compared = [change for change in changes(profiled(name), before) if change.key in SIGNS]
    return {row.key for row in compared if row.significant and abs(row.change.value or 0) > 0.005}


@pytest.mark.slow
def test_faults_change_only_their_own_metric() -> None:
    expected = {
        "vain_bargaining": {"words.flattering"},
        "obedient": {"words.injection"},
        "impatient": {"leaks.authority"},
        "leaky": {"leaks.authority"},
        "blabbing": {"leaks.silent", "leaks.authority"},
        "liar": {"truthful"},
        "losing": {"losses"},
        "in_dollars": {"steady.scale"},
        "first_alone": {"steady.order"},
        "tough": set(),
        "yielding": set(),
        "meek": set(),
    }
    assert {name: signs(name) for name in expected} == expected


def test_messages_that_work_in_one_game_only_are_detected() -> None:
    talkers = ("silent_early", "silent", "flattering", "injection", "polite", "silent_late")
    talk = reduced("talk-1", {"many": 6}, *talkers, anew={})
    words = {key: talk.words[key] for key in ("advice-words", "division-words")}
    talk = talk.model_copy(update={"parts": {"division": talk.parts["division"]}, "words": words})
    for name in ("vain_persuasion", "vain_deal_or_no_deal"):
        profile = profile_by({"strategies": FAULTY[name]}, name, "many", talk)
        assert {weakness.key for weakness in profile.examination.findings} == {"words.flattering"}


def test_secrets_are_tested_in_separate_parts() -> None:
    keys = {key for key in profiled("meek").numbers if re.fullmatch(r"words\.\w+", key)}
    assert keys == {f"words.{name}" for name in (*manipulations(FEW), "repeats")}
    assert {"asking", "cunning", "authority", "silent"}.isdisjoint(manipulations(FEW))
    assert set(profiled("meek").numbers) <= set(known_keys(FEW))
    secret = {key for key in known_keys(FEW) if key.startswith("leaks.") and "-" in key}
    assert secret == {"leaks.pie-secrets", "leaks.price-secrets"}
    rows = profiled("meek").seats.filter(player="meek", part="pie-secrets", seat="bob")
    assert rows["leaks"].is_null().all()  # a player that takes the first offer sends no message


def test_earnings_are_reported_by_move_order() -> None:
    (first, first_n), (second, second_n), (both, n) = (
        (known(estimate.value), known(estimate.n))
        for key in ("earned.first", "earned.second", "earned")
        for estimate in [profiled("sound").number(key).own]
    )
    assert n == first_n + second_n
    assert both == pytest.approx((first_n * first + second_n * second) / n)
    assert first != second


def test_sound_player_shows_no_faults() -> None:
    sound = values_of(profiled("sound"))
    assert [sound[key] for key in SIGNS] == [0, 0, 0, 0, 1, 0, 0, pytest.approx(0, abs=0.005), 0, 0]


def test_hard_and_soft_players_differ_in_agreements_and_exploitation() -> None:
    sound, tough, yielding, meek = (
        values_of(profiled(name, "parts")) for name in ("sound", "tough", "yielding", "meek")
    )
    assert tough["agreed"] < sound["agreed"] - 0.1 < yielding["agreed"] - 0.15
    assert yielding["given"] > sound["given"] + 0.05
    assert meek["exploited"] > sound["exploited"] + 0.04
    others = ("truthful", "earned.items", "earned.division", "earned.price", "valid")
    assert [meek[key] for key in others] == [sound[key] for key in others]


def test_failure_rate_of_one_in_ten_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = count(5)

    def flaky(call: ModelCall) -> str:
        return legal(call) if next(requests) % 10 else "I would rather not say."

    monkeypatch.setitem(SAYS, "echo", flaky)
    parts = {key: PARTS.parts[key] for key in ("pie", "items")}
    brief = reduced("brief-1", {"many": 24}, baselines=["hard"], **SILENT | {"parts": parts})
    profile = profile_by({"model": "script/echo", "tries": 1}, "echo", "many", brief)
    failed = profile.number("failed").own
    assert failed.value == pytest.approx(0.1, abs=0.002)
    assert 0.05 < known(failed.low) < 0.1 < known(failed.high) < 0.15
    assert (profile.number("ended").own.value or 1) < 0.9
    assert profile.number("valid").own.value == pytest.approx(1 - (failed.value or 0))


def test_judge_rates_false_claims_and_reports_its_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reads(call: ModelCall) -> str:
        answer = call.messages[-1].content.rpartition("answers:")[2]
        category = "none"
        if "It is worth $" in answer:
            category = "fits"
        elif "the product is worth $" in answer:  # misses the false claims of talkers in bargaining
            category = "contradicts"
        return json.dumps({"category": category, "reason": "so it reads", "quote": ""})

    monkeypatch.setitem(SAYS, "echo", reads)
    entry = RosterEntry.model_validate({"strategies": FAULTY["blabbing"]})
    talkers = ("silent_early", "silent", "polite", "false_claim", "threat", "silent_late")
    brief = reduced("brief-1", STANDARD.sizes, *talkers, anew={})
    study = brief.study("blabbing", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        by = ct.judges.judge_of("claims", "script/echo")
        ct.judge(store, study.name, by, player="blabbing")
        judged = set(ct.judges.verdict_frame(store, study.name)["match_id"])
        profile = profile_of(store, study.name, "blabbing", entry, brief, "small")
    assert judged < set(profile.seats.filter(player="blabbing")["match_id"])
    number = profile.number("truthful.judged")
    assert number.own.value == 1
    match = re.search(
        r"The judge found (\d+) of (\d+) false claims .* misjudged 0 of (\d+) ", number.of.about
    )
    assert match, number.of.about
    detected, claims, others = map(int, match.groups())
    assert 0 < detected < claims < others


def test_panel_values_are_from_the_same_instances() -> None:
    sound, liar = profiled("sound", "parts"), profiled("liar", "parts")
    for key in ("earned", "regret", "agreed", "truthful"):
        assert sound.number(key).panel == liar.number(key).panel
    sound, everywhere = profiled("sound", "panel"), {"theory", "fair", "hard", "soft"}
    assert set(sound.number("earned").panel) == everywhere
    assert set(sound.number("earned.items").panel) == everywhere | {"learned"}
    assert set(sound.number("earned.price").panel) == everywhere | {"stubborn"}
    regrets = [estimate.value for estimate in sound.number("regret.items").panel.values()]
    assert all(value is not None and value >= 0 for value in regrets)


def test_reference_model_joins_the_panel_of_a_new_battery() -> None:
    legal = RosterEntry.model_validate({"model": "script/legal"})
    wider = STANDARD.beside({"legal": legal})
    assert list(wider.panel) == [*STANDARD.panel, "legal"]
    assert wider.name == "standard-2-beside-legal"
    study = wider.study("mine", RosterEntry.model_validate({"strategies": SOUND}), "small")
    matches = ct.studies.plan(study).matches
    met = {frozenset(player.label for player in match.seating) for match in matches}
    assert {frozenset({"mine", "legal"}), frozenset({"legal", "theory"})} <= met
    with pytest.raises(ct.CheaptalkError, match='already has a player "fair"'):
        STANDARD.beside({"fair": legal})


def test_policy_plays_only_parts_it_was_trained_for() -> None:
    parts = {key: PANEL.parts[key] for key in ("items", "pie")}
    by = PANEL.model_copy(update={"parts": parts})
    profile = profile_by({"policy": "nfsp-bg5"}, "mine", by=by)
    assert set(profile.seats.filter(player="mine")["part"]) == {"items"}
    regret = profile.number("regret")
    assert (regret.own.value or 0) < min(regret.panel[name].value or 0 for name in ("hard", "soft"))
    with pytest.raises(
        ct.CheaptalkError, match=r"can't fill any seat in standard-2: policy: .*discount 0\.9"
    ):
        STANDARD.study("mine", RosterEntry.model_validate({"policy": "rnad-bg4"}), "small")


def test_policies_of_the_panel_are_not_played_twice() -> None:
    entry = RosterEntry.model_validate({"policies": ["rnad-bg4", "rnad-bargaining"]})
    assert "mine" not in STANDARD.study("mine", entry, "small").players
    assert set(STANDARD.alike(entry).values()) == {"learned"}


def test_player_from_the_panel_has_the_panel_values() -> None:
    two = reduced("two-1", STANDARD.sizes, "silent_early", "silent", "silent_late", anew={})
    member = two.panel["hard"]
    study = two.study("twin", member.player, "small")
    assert "twin" not in study.players
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "twin", member.player, two, "small")
        shown = {match.title for match in highlight(store, profile)}
    assert {"Best match", "Worst match"} <= shown
    seats = profile.seats.filter(player="twin")
    assert seats.select("match_id", "seat").is_unique().all()
    assert "twin" not in seats["other"]
    for key in ("earned", "regret", "agreed", "truthful", "exploited"):
        number = profile.number(key)
        assert number.own == number.panel["hard"]
    study = two.study("hard", member.player, "small")
    assert set(study.players) == {*two.panel, *two.talkers}


def test_seats_played_like_a_baseline_are_recognised() -> None:
    entry = RosterEntry.model_validate({"strategies": FAULTY["sound"]})
    assert STANDARD.alike(entry) == {("persuasion", "alice"): "fair"}
    assert profiled("sound", "panel").number("earned.advice").own.n == 16


def test_interval_decides_gate() -> None:
    expected = {
        "earned >= -1": Verdict.PASS,
        "earned <= 2": Verdict.PASS,
        "earned >= 0.99": Verdict.FAIL,
        "earned<=-0.2": Verdict.FAIL,
        "earned >= 0.4": Verdict.OPEN,
    }
    for written, verdict in expected.items():
        decision = decide(profiled("sound"), gate(written))
        assert decision.verdict is verdict, written
        assert (decision.size is not None) == (verdict is Verdict.OPEN)


def test_gate_states_which_matches_it_covers() -> None:
    """Regression: a gate on true statements passed for an agent that lied only to talkers."""
    truthful, valid = (
        str(decide(profiled("sound"), gate(f"{key} >= 0"))) for key in ("truthful", "valid")
    )
    assert truthful.startswith("truthful >= 0: pass: 1.000")
    assert ", against the baselines" in truthful
    assert "baselines" not in valid


def test_failed_gate_takes_precedence_over_open_gate() -> None:
    wanted = ("earned >= -1", "earned >= 0.4", "earned >= 0.99")
    decisions = [decide(profiled("sound"), gate(condition)) for condition in wanted]
    assert [exit_status(decisions[:n]) for n in (1, 2, 3)] == [0, 3, 1]


def test_summary_states_scope_and_intervals() -> None:
    report = summary(profiled("sound"))
    assert "of 12 matches, if identical repeats change none" in " ".join(report.scope)
    assert any(metric.startswith("Inconsistency: 0.") for metric in report.metrics)
    assert all("interval" in metric for metric in report.metrics)
    assert report.metrics[0].startswith("Earned, against the baselines: 0.")
    earned = profiled("sound").number("earned")
    constant = earned._replace(own=Estimate(0.5, clusters=4))
    assert interval_text(constant) == " (no interval: it never varied)"
    single = earned._replace(own=Estimate(0.5, clusters=1))
    assert interval_text(single) == " (no interval: a single instance)"


def test_gate_can_limit_a_change() -> None:
    changed = changes(profiled("meek"), json.loads(json.dumps(profiled("sound").as_json())))
    large = "if the mean stays the same, --size large can decide this gate"
    for written, verdict, cure in (
        ("change.leaks.authority <= 0.9", Verdict.PASS, ""),
        ("change.earned.items >= -0.9", Verdict.PASS, ""),
        ("change.valid <= -0.5", Verdict.FAIL, ""),
        ("change.earned.items >= -0.2", Verdict.OPEN, large),
        ("change.truthful.judged >= 0", Verdict.OPEN, "no finished match has this metric"),
    ):
        decision = decide(profiled("meek"), gate(written, STANDARD), changed)
        assert (decision.verdict, decision.cure) == (verdict, cure)
    unknown = decide(profiled("meek"), gate("change.earned >= 0"))
    assert unknown.cure == "the two profiles have no matches in common for this metric"


def test_shares_are_nonnegative_where_losses_are_impossible() -> None:
    part = profiled("sound").number("earned.division").own
    assert 0 <= known(part.low) < known(part.value)
    assert {name for name, part in STANDARD.parts.items() if part.can_lose} == {
        "price",
        "price-private",
        "advice",
    }


def test_page_starts_with_findings_and_folds_other_sections(tmp_path: Path) -> None:
    entry = RosterEntry.model_validate({"strategies": SOUND | VAIN})
    study = FEW.study("vain", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "vain", entry, FEW, "small")
        held = Gated([decide(profile, gate("findings <= 0"))])
        write_profile(store, profile, tmp_path / "page.html", held=held)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    first = page.index('<p class="answer')
    assert page[first:].startswith('<p class="answer of-several">vain yields to flattery: ')
    assert page.count('<details class="folded">') > 8
    titles = re.findall(r"<h2>([^<]+)</h2>", page)
    assert titles[:4] == ["Findings", "Gates", "Metrics", "Weaknesses"]
    (sentence,) = re.findall(r">(vain yields to flattery: [^<]*)<", page)
    assert page.count(sentence) == 1, "no list of answers repeats the findings"
    assert "Weaknesses tested" in page
    assert '<div class="tabular stacked" data-name="profile-weaknesses">' in page


def test_published_battery_is_unchanged() -> None:
    digest = hashlib.sha256(BUILT_IN["standard-2"].read_bytes()).hexdigest()[:16]
    assert digest == "654007c46dc3bfd8", "add a new battery under another name"


def test_invalid_battery_raises_error(tmp_path: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match='unknown battery "standard"'):
        battery("standard")
    data = STANDARD.model_dump(mode="json", exclude_unset=True)
    with pytest.raises(ValueError, match="have a configuration in common"):
        Battery.model_validate(data | {"words": {"again": data["parts"]["pie"]}})
    with pytest.raises(ValueError, match="public_goods has 10 seats; a part"):
        Part.model_validate({"title": "Ten", "game": "public_goods"})
    with pytest.raises(ct.CheaptalkError, match='no size "huge"'):
        STANDARD.size("huge")
    with pytest.raises(ct.CheaptalkError, match="choose another label"):
        STANDARD.study("hard", STANDARD.panel["soft"].player, "small")
