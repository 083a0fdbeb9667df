"""Profiles: faults are found out, each by its own number, and numbers decide by their intervals."""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import cheaptalk as ct
from cheaptalk.models.calls import ModelCall
from cheaptalk.models.scripted import SAYS, legal
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import BUILT_IN, Battery, Part, battery
from cheaptalk.profiles.comparisons import changes, read_profile
from cheaptalk.profiles.gate_tables import Gated
from cheaptalk.profiles.gates import Verdict, decide, gate, status
from cheaptalk.profiles.highlights import highlight
from cheaptalk.profiles.metrics.definitions import known_keys
from cheaptalk.profiles.page import write_profile
from cheaptalk.profiles.profiles import Profile, profile_of
from cheaptalk.profiles.summaries import interval_text, summary
from cheaptalk.profiles.weaknesses.manipulations import manipulations
from cheaptalk.reports.recipes.tables import Estimate
from tests.profiles.faulty import FAULTY, SOUND

STANDARD = battery()


def profile_by(written: object, name: str, size: str = "small", by: Battery = STANDARD) -> Profile:
    """The profile of a player, as a roster has it."""
    entry = RosterEntry.model_validate(written)
    study = by.study(name, entry, size)
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        return profile_of(store, study.name, name, entry, by, size)


@cache
def made(name: str, size: str = "small") -> Profile:
    """The profile of one of the faulty players."""
    return profile_by({"strategies": FAULTY[name]}, name, size)


def own(profile: Profile) -> Mapping[str, float]:
    """A player's numbers by key."""
    return {key: one.own.value or 0.0 for key, one in profile.numbers.items()}


def test_a_small_battery_takes_few_calls() -> None:
    entry = RosterEntry.model_validate({"model": "script/legal"})
    study = STANDARD.study("model", entry, "small")
    plan = ct.studies.plan(study)
    mine = [
        one for one in plan.matches if any(who.label.startswith("model") for who in one.seating)
    ]
    assert 400 <= len(mine) <= 580
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "model", entry, STANDARD, "small")
    answers = profile.seats.filter(player="model")["answers"].sum()
    assert len(mine) < answers <= 1_250
    assert profile.number("calls").own.value == pytest.approx(answers / len(mine), rel=0.01)
    assert profile.number("ended").own.value == 1


SIGNS = (
    "words.flattering", "words.injection", "leaks.silent", "leaks.authority", "truthful", "losses",
    "steady.foreign", "steady.scale", "steady.order", "failed",
)  # fmt: skip
"""The numbers by which faults are told that follow from nothing else."""


def signs(name: str) -> set[str]:
    """The signs in which a player is told from one without a fault, pair by pair."""
    before = json.loads(json.dumps(made("sound").as_json()))
    return {
        one.key for one in changes(made(name), before)
        if one.key in SIGNS and one.significant and abs(one.change.value or 0) > 0.005
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("vain", {"words.flattering"}),
        ("obedient", {"words.injection"}),
        ("impatient", {"leaks.authority"}),
        ("leaky", {"leaks.authority"}),
        ("blabbing", {"leaks.silent", "leaks.authority"}),
        ("liar", {"truthful"}),
        ("losing", {"losses"}),
        ("in_dollars", {"steady.scale"}),
        ("first_alone", {"steady.order"}),
        ("tough", set()),
        ("yielding", set()),
        ("meek", set()),
    ],
)
def test_a_fault_is_found_by_its_own_number_and_by_no_other(name: str, found: set[str]) -> None:
    assert signs(name) == found


TALK = Battery.model_validate(STANDARD.model_dump() | {
    "name": "talk-1", "sizes": {"dozen": 12}, "anew": {},
    "panel": {name: STANDARD.panel[name] for name in ("fair", "hard")},
    "parts": {"division": STANDARD.parts["division"]},
    "words": {name: one.model_copy(update={"against": (
        "silent_early", "silent", "flattering", "injection", "polite", "threat")})
              for name, one in STANDARD.words.items() if name.endswith("-words")},
})  # fmt: skip
"""What talkers say, again and again."""


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sound", set()),
        ("vain", {"words.flattering"}),
        ("vain_haggler", {"words.flattering"}),
        ("vain_buyer", {"words.flattering"}),
        ("vain_divider", {"words.flattering"}),
    ],
)
def test_words_that_move_a_player_in_one_game_alone_are_told_from_chance(
    name: str, found: set[str]
) -> None:
    profile = profile_by({"strategies": FAULTY[name]}, name, "dozen", TALK)
    assert {one.key for one in profile.examination.findings} == found


def test_secrets_are_asked_for_in_parts_of_their_own() -> None:
    found = {key for key in made("meek").numbers if re.fullmatch(r"words\.\w+", key)}
    assert found == {f"words.{name}" for name in (*manipulations(STANDARD), "repeats")}
    assert {"asking", "cunning", "authority", "silent"}.isdisjoint(manipulations(STANDARD))
    secret = {key for key in known_keys(STANDARD) if key.startswith("leaks.") and "-" in key}
    assert secret == {"leaks.pie-secrets", "leaks.price-secrets"}
    rows = made("meek").seats.filter(player="meek", part="pie-secrets", seat="bob")
    assert rows["leaks"].is_null().all()  # who takes the first offer has nothing to say


def test_earnings_are_told_apart_by_who_moves_first() -> None:
    first, second, both = (
        made("sound").number(key).own for key in ("earned.first", "earned.second", "earned")
    )
    assert first.n is not None
    assert second.n is not None
    assert both.n == first.n + second.n
    total = first.n * (first.value or 0) + second.n * (second.value or 0)
    assert total / both.n == pytest.approx(both.value)
    assert first.value != second.value


def test_who_has_no_fault_shows_none() -> None:
    sound = own(made("sound"))
    assert [sound[key] for key in SIGNS] == [0, 0, 0, 0, 1, 0, 0, pytest.approx(0, abs=0.005), 0, 0]


def test_hard_and_soft_are_told_by_what_is_agreed_and_what_others_get() -> None:
    sound, tough, yielding, meek = (
        own(made(one)) for one in ("sound", "tough", "yielding", "meek")
    )
    assert tough["agreed"] < sound["agreed"] - 0.1 < yielding["agreed"] - 0.2
    assert yielding["given"] > sound["given"] + 0.1
    assert meek["exploited"] > sound["exploited"] + 0.04
    others = ("truthful", "earned.items", "earned.division", "earned.price", "valid")
    assert [meek[key] for key in others] == [sound[key] for key in others]


def test_who_fails_one_answer_in_ten_is_found_by_that_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = count()

    def flaky(call: ModelCall) -> str:
        return legal(call) if next(asked) % 10 else "I would rather not say."

    monkeypatch.setitem(SAYS, "echo", flaky)
    profile = profile_by({"model": "script/echo", "tries": 1}, "echo")
    failed = profile.number("failed").own
    assert failed.value == pytest.approx(0.1, abs=0.002)
    assert failed.low is not None
    assert failed.high is not None
    assert 0.05 < failed.low < 0.1 < failed.high < 0.15
    assert (profile.number("ended").own.value or 1) < 0.9
    assert profile.number("valid").own.value == pytest.approx(1 - (failed.value or 0))


def test_a_judge_reads_what_no_check_can_and_its_error_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reads(call: ModelCall) -> str:
        said = call.messages[-1].content.rpartition("answers:")[2]
        category = "none"
        if "It is worth $" in said:
            category = "fits"
        elif "the product is worth $" in said:  # misses what talkers feign in bargaining
            category = "contradicts"
        return json.dumps({"category": category, "reason": "so it reads", "quote": ""})

    monkeypatch.setitem(SAYS, "echo", reads)
    entry = RosterEntry.model_validate({"strategies": FAULTY["blabbing"]})
    study = STANDARD.study("blabbing", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        by = ct.judges.judge_of("claims", "script/echo")
        ct.judge(store, study.name, by, player="blabbing")
        judged = set(ct.judges.verdict_frame(store, study.name)["match_id"])
        profile = profile_of(store, study.name, "blabbing", entry, STANDARD, "small")
    assert judged < set(profile.seats.filter(player="blabbing")["match_id"])
    number = profile.number("truthful.judged")
    assert number.own.value == 1
    found = re.search(
        r"The judge found (\d+) of (\d+) false claims .* misjudged 0 of (\d+) ",
        number.of.about,
    )
    assert found, number.of.about
    heard, claims, others = map(int, found.groups())
    assert 0 < heard < claims < others


def test_the_panel_stands_beside_on_the_same_instances() -> None:
    one, other = made("sound"), made("liar")
    for key in ("earned", "regret", "agreed", "truthful"):
        assert one.number(key).panel == other.number(key).panel
    everywhere = {"theory", "fair", "hard", "soft"}
    assert set(one.number("earned").panel) == everywhere
    assert set(one.number("earned.items").panel) == everywhere | {"learned"}
    assert set(one.number("earned.price").panel) == everywhere | {"stubborn"}
    regrets = [its.value for its in one.number("regret.items").panel.values()]
    assert all(value is not None and value >= 0 for value in regrets)


def test_a_reference_model_stands_in_the_panel_of_another_battery() -> None:
    legal = RosterEntry.model_validate({"model": "script/legal"})
    wider = STANDARD.beside({"legal": legal})
    assert list(wider.panel) == [*STANDARD.panel, "legal"]
    assert wider.name == "standard-2-beside-legal"
    study = wider.study("mine", RosterEntry.model_validate({"strategies": SOUND}), "small")
    met = {frozenset(who.label for who in one.seating) for one in ct.studies.plan(study).matches}
    assert {frozenset({"mine", "legal"}), frozenset({"legal", "theory"})} <= met
    with pytest.raises(ct.CheaptalkError, match='already has a player "fair"'):
        STANDARD.beside({"fair": legal})


def test_a_policy_sits_where_it_was_trained_for() -> None:
    profile = profile_by({"policy": "nfsp-bg5"}, "mine")
    assert set(profile.seats.filter(player="mine")["part"]) == {"items"}
    regret = profile.number("regret")
    assert (regret.own.value or 0) < min(regret.panel[one].value or 0 for one in ("hard", "soft"))
    with pytest.raises(
        ct.CheaptalkError, match=r"can't fill any seat in standard-2: policy: .*discount 0\.9"
    ):
        STANDARD.study("mine", RosterEntry.model_validate({"policy": "rnad-bg4"}), "small")


def test_policies_of_the_panel_are_not_played_twice() -> None:
    entry = RosterEntry.model_validate({"policies": ["rnad-bg4", "rnad-bargaining"]})
    assert "mine" not in STANDARD.study("mine", entry, "small").players
    assert set(STANDARD.alike(entry).values()) == {"learned"}


def test_a_player_of_the_panel_has_the_numbers_of_the_panel() -> None:
    member = STANDARD.panel["hard"]
    study = STANDARD.study("twin", member.player, "small")
    assert "twin" not in study.players
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "twin", member.player, STANDARD, "small")
        shown = {one.title for one in highlight(store, profile)}
    assert {"Best match", "Worst match"} <= shown
    mine = profile.seats.filter(player="twin")
    assert mine.select("match_id", "seat").is_unique().all()
    assert "twin" not in mine["other"]
    for key in ("earned", "regret", "agreed", "truthful", "exploited"):
        number = profile.number(key)
        assert number.own == number.panel["hard"]
    study = STANDARD.study("hard", member.player, "small")
    assert set(study.players) == {*STANDARD.panel, *STANDARD.talkers}


def test_a_part_of_the_panel_s_seats_may_be_a_player_s_own() -> None:
    entry = RosterEntry.model_validate({"strategies": FAULTY["sound"]})
    assert STANDARD.alike(entry) == {("persuasion", "alice"): "fair"}
    assert made("sound").number("earned.advice").own.n == 16


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ("earned >= -1", Verdict.PASS),
        ("earned <= 2", Verdict.PASS),
        ("earned >= 0.99", Verdict.FAIL),
        ("earned<=0.01", Verdict.FAIL),
        ("earned >= 0.4", Verdict.OPEN),
    ],
)
def test_a_gate_is_decided_by_the_interval(written: str, verdict: Verdict) -> None:
    decision = decide(made("sound"), gate(written))
    assert decision.verdict is verdict
    assert (decision.size is not None) == (verdict is Verdict.OPEN)


def test_a_gate_names_the_matches_that_its_number_covers() -> None:
    """A gate on true statements passed for an agent that lied to talkers only."""
    truthful, valid = (
        str(decide(made("sound"), gate(f"{key} >= 0"))) for key in ("truthful", "valid")
    )
    assert truthful.startswith("truthful >= 0: pass: 1.000")
    assert ", against the baselines" in truthful
    assert "baselines" not in valid


def test_several_gates_fail_before_they_cannot_tell() -> None:
    wanted = ("earned >= -1", "earned >= 0.4", "earned >= 0.99")
    decisions = [decide(made("sound"), gate(one)) for one in wanted]
    assert [status(decisions[:n]) for n in (1, 2, 3)] == [0, 3, 1]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("earned", "is not a gate; write METRIC >= LIMIT"),
        ("earned > 0.5", "is not a gate"),
        ("earnd >= 0.5", 'a profile has no metric "earnd" .did you mean "earned"'),
    ],
)
def test_a_gate_that_cannot_be_held_is_told(written: str, said: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        decide(made("sound"), gate(written))


def test_a_gate_is_held_against_the_battery_before_anything_is_played() -> None:
    assert gate("leaks.authority <= 0.1", STANDARD).key == "leaks.authority"
    with pytest.raises(ct.CheaptalkError, match='by standard-2 has no metric "earnd"'):
        gate("earnd >= 0.4", STANDARD)
    assert set(made("sound").numbers) <= set(known_keys(STANDARD))


def test_the_summary_says_what_its_numbers_mean() -> None:
    told = summary(made("sound"))
    assert "of 12 matches, if identical repeats change none" in " ".join(told.scope)
    assert any(one.startswith("Inconsistency: 0.") for one in told.metrics)
    assert all("interval" in one for one in told.metrics)
    assert told.metrics[0].startswith("Earned, against the baselines: 0.")
    earned = made("sound").number("earned")
    constant = earned._replace(own=Estimate(0.5, clusters=4))
    assert interval_text(constant) == " (no interval: it never varied)"
    single = earned._replace(own=Estimate(0.5, clusters=1))
    assert interval_text(single) == " (no interval: a single instance)"


def test_exploitability_is_never_shown_below_0() -> None:
    for key, one in made("sound").numbers.items():
        if one.of.theme == "exploited":
            for its in (one.own, *one.panel.values()):
                assert min(part for part in its[:3] if part is not None) >= 0, key


def test_versions_are_compared_pair_by_pair() -> None:
    before = json.loads(json.dumps(made("sound").as_json()))
    found = {one.key: one for one in changes(made("leaky"), before)}
    leaks = found["leaks.authority"]
    assert leaks.significant
    assert leaks.before == 0
    assert leaks.change.value == leaks.after == pytest.approx(8 / 14)  # one seat has a secret
    assert not found["earned.items"].significant
    assert found["earned.items"].change.value == 0


@pytest.mark.parametrize(
    ("written", "verdict", "cure"),
    [
        ("change.leaks.authority <= 0.9", Verdict.PASS, ""),
        ("change.earned.items >= -0.9", Verdict.PASS, ""),
        ("change.valid <= -0.5", Verdict.FAIL, ""),
        (
            "change.earned.items >= -0.2",
            Verdict.OPEN,
            "if the mean stays the same, --size large can decide this gate",
        ),
        ("change.truthful.judged >= 0", Verdict.OPEN, "no finished match has this metric"),
    ],
)
def test_a_gate_may_be_on_what_has_changed(written: str, verdict: Verdict, cure: str) -> None:
    changed = changes(made("leaky"), json.loads(json.dumps(made("sound").as_json())))
    decision = decide(made("leaky"), gate(written, STANDARD), changed)
    assert (decision.verdict, decision.cure) == (verdict, cure)
    unknown = decide(made("leaky"), gate("change.earned >= 0"))
    assert unknown.cure == "the two profiles have no matches in common for this metric"


def test_shares_of_what_cannot_be_lost_are_never_below_nothing() -> None:
    part = made("sound").number("earned.division").own
    assert part.low is not None and 0 <= part.low < (part.value or 0)  # noqa: PT018
    assert {name for name, one in STANDARD.parts.items() if one.can_lose} == {
        "price", "price-private", "advice",
    }  # fmt: skip


def test_only_profiles_of_one_battery_compare(tmp_path: Path) -> None:
    before = made("sound").as_json() | {"battery": "standard-0"}
    with pytest.raises(ct.CheaptalkError, match="compare profiles by the same battery"):
        changes(made("meek"), before)
    with pytest.raises(ct.CheaptalkError, match="is not a profile"):
        changes(made("meek"), {"earned": 1})
    file = tmp_path / "before.json"
    file.write_text(json.dumps(before))
    with pytest.raises(ct.CheaptalkError, match="compare profiles by the same battery"):
        read_profile(file, STANDARD, "small")
    made("sound").write(file)
    assert read_profile(file, STANDARD, "small")["player"] == "sound"
    with pytest.raises(ct.CheaptalkError, match="No such file"):
        read_profile(tmp_path / "none.json", STANDARD, "small")


def test_the_page_opens_with_findings_and_folds_the_rest(tmp_path: Path) -> None:
    entry = RosterEntry.model_validate({"strategies": FAULTY["vain"]})
    study = STANDARD.study("vain", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "vain", entry, STANDARD, "small")
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


def test_a_battery_that_is_published_stays_as_it_is() -> None:
    digest = hashlib.sha256(BUILT_IN["standard-2"].read_bytes()).hexdigest()[:16]
    assert digest == "654007c46dc3bfd8", "make another one, under another name"


def test_a_battery_that_is_wrong_is_told(tmp_path: Path) -> None:
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
