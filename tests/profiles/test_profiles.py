"""Profiles: faults are found out, each by its own number, and numbers decide by their intervals."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import cheaptalk as ct
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import Battery, battery
from cheaptalk.profiles.comparisons import changes
from cheaptalk.profiles.gates import Verdict, decide, gate, status
from cheaptalk.profiles.page import write_profile
from cheaptalk.profiles.profiles import Profile, profile_of
from tests.profiles.faulty import FAULTY

STANDARD = battery()


@cache
def made(name: str, size: str = "small") -> Profile:
    """The profile of one of the faulty players."""
    entry = RosterEntry.model_validate({"strategies": FAULTY[name]})
    study = STANDARD.study(name, entry, size)
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        return profile_of(store, study.name, name, entry, STANDARD, size)


def own(profile: Profile) -> Mapping[str, float]:
    """A player's numbers by key."""
    return {key: one.own.value or 0.0 for key, one in profile.numbers.items()}


def test_a_small_battery_takes_few_calls() -> None:
    entry = RosterEntry.model_validate({"model": "script/legal"})
    study = STANDARD.study("model", entry, "small")
    plan = ct.studies.plan(study)
    mine = [one for one in plan.matches if any(who.label == "model" for who in one.seating)]
    assert 200 <= len(mine) <= 330
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "model", entry, STANDARD, "small")
    answers = profile.seats.filter(player="model")["answers"].sum()
    assert len(mine) < answers <= 1_200
    assert profile.number("calls").own.value == pytest.approx(answers / len(mine), rel=0.01)
    assert profile.number("ended").own.value == 1


def test_who_yields_to_flattery_is_found_out_by_that_number_alone() -> None:
    sound, vain = own(made("sound")), own(made("vain"))
    moved = {key for key in sound if key.startswith("words.") and sound[key] != vain[key]}
    assert moved == {"words.flattering"}
    assert vain["words.flattering"] < -0.05
    assert all(sound[key] == vain[key] for key in sound if not key.startswith("words."))


def test_who_takes_anything_is_exploited() -> None:
    sound, meek = own(made("sound")), own(made("meek"))
    assert meek["exploited"] > sound["exploited"] + 0.1
    assert meek["agreed"] > sound["agreed"]
    others = ("truthful", "earned.items", "earned.division", "earned.price", "valid")
    assert [meek[key] for key in others] == [sound[key] for key in others]


def test_who_tells_what_it_alone_knows_is_found_out_and_by_whom() -> None:
    sound, leaky = own(made("sound")), own(made("leaky"))
    assert [sound[key] for key in sound if key.startswith("leaks")] == [0] * 5
    told = {key for key in leaky if key.startswith("leaks") and leaky[key] > 0}
    assert told == {"leaks", "leaks.authority"}
    others = [key for key in sound if not key.startswith("leaks")]
    assert [leaky[key] for key in others] == [sound[key] for key in others]


def test_a_liar_is_found_out() -> None:
    sound, liar = own(made("sound")), own(made("liar"))
    assert sound["truthful"] == 1
    assert liar["truthful"] < 0.6
    assert liar["earned.pie"] == sound["earned.pie"]


def test_the_panel_stands_beside_on_the_same_deals() -> None:
    one, other = made("sound"), made("liar")
    for key in ("earned", "regret", "agreed", "truthful"):
        assert one.number(key).panel == other.number(key).panel
        assert set(one.number(key).panel) == set(STANDARD.panel)
    regrets = [its.value for its in one.number("regret.items").panel.values()]
    assert all(value is not None and value >= 0 for value in regrets)


def test_a_player_of_the_panel_has_the_numbers_of_the_panel() -> None:
    member = STANDARD.panel["hard"]
    study = STANDARD.study("twin", member.entry, "small")
    assert "twin" not in study.players
    with TemporaryDirectory() as folder, ct.Store.open(Path(folder) / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "twin", member.entry, STANDARD, "small")
    for key in ("earned", "regret", "agreed", "truthful", "exploited"):
        number = profile.number(key)
        assert number.own == number.panel["hard"]


def test_a_part_of_the_panel_s_seats_may_be_a_player_s_own() -> None:
    entry = RosterEntry.model_validate({"strategies": FAULTY["sound"]})
    assert STANDARD.alike(entry) == {("persuasion", "alice"): "fair"}
    assert made("sound").number("earned.advice").own.n == 32


@pytest.mark.parametrize(
    ("written", "verdict"),
    [
        ("earned >= -1", Verdict.PASS),
        ("earned <= 2", Verdict.PASS),
        ("earned >= 0.99", Verdict.FAIL),
        ("earned<=0.01", Verdict.FAIL),
        ("earned >= 0.4", Verdict.CANNOT_TELL),
    ],
)
def test_a_gate_is_decided_by_the_interval(written: str, verdict: Verdict) -> None:
    decision = decide(made("sound"), gate(written))
    assert decision.verdict is verdict
    assert (decision.more is not None) == (verdict is Verdict.CANNOT_TELL)


def test_several_gates_fail_before_they_cannot_tell() -> None:
    wanted = ("earned >= -1", "earned >= 0.4", "earned >= 0.99")
    decisions = [decide(made("sound"), gate(one)) for one in wanted]
    assert [status(decisions[:n]) for n in (1, 2, 3)] == [0, 3, 1]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("earned", "is no gate; write NUMBER >= LIMIT"),
        ("earned > 0.5", "is no gate"),
        ("earnd >= 0.5", 'a profile has no number "earnd" .did you mean "earned"'),
    ],
)
def test_a_gate_that_cannot_be_held_is_told(written: str, said: str) -> None:
    with pytest.raises(ct.CheaptalkError, match=said):
        decide(made("sound"), gate(written))


def test_versions_are_compared_pair_by_pair() -> None:
    before = json.loads(json.dumps(made("sound").as_json()))
    found = {one.key: one for one in changes(made("meek"), before)}
    pie = found["earned.pie"]
    assert pie.told
    assert pie.change.value == pytest.approx(pie.after - pie.before)
    assert pie.change.value
    assert not found["earned.items"].told
    assert found["earned.items"].change.value == 0


def test_only_profiles_of_one_battery_compare() -> None:
    before = made("sound").as_json() | {"battery": "standard-0"}
    with pytest.raises(ct.CheaptalkError, match="only profiles of one battery compare"):
        changes(made("meek"), before)
    with pytest.raises(ct.CheaptalkError, match="is no profile"):
        changes(made("meek"), {"earned": 1})


def test_the_page_says_each_theme_in_a_sentence(tmp_path: Path) -> None:
    entry = RosterEntry.model_validate({"strategies": FAULTY["vain"]})
    study = STANDARD.study("vain", entry, "small")
    with ct.Store.open(tmp_path / "s", create=True) as store:
        ct.run(study, store, workers=1)
        profile = profile_of(store, study.name, "vain", entry, STANDARD, "small")
        write_profile(store, profile, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "It earns 0." in page
    assert ", place " in page
    assert "No manner of speaking moves vain by more than chance would." in page


def test_a_battery_that_is_wrong_is_told(tmp_path: Path) -> None:
    with pytest.raises(ct.CheaptalkError, match='no battery or file "standard"'):
        battery("standard")
    data = STANDARD.model_dump(mode="json", exclude_unset=True)
    with pytest.raises(ValueError, match="have a configuration in common"):
        Battery.model_validate(data | {"words": {"again": data["parts"]["pie"]}})
    with pytest.raises(ct.CheaptalkError, match='no size "huge"'):
        STANDARD.size("huge")
    with pytest.raises(ct.CheaptalkError, match="name yours apart"):
        STANDARD.study("hard", STANDARD.panel["hard"].entry, "small")
