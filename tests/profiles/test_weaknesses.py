"""Weaknesses: planted ones are named first, and players without any are not accused."""

import json

import pytest

from cheaptalk.games.manners import manners
from cheaptalk.profiles.summaries import summary
from cheaptalk.profiles.weaknesses.examine import examine
from cheaptalk.profiles.weaknesses.manipulations import manipulations
from tests.profiles.planted import STRONG, WEAK, profiled


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


def test_every_manner_but_silence_has_eight_wordings() -> None:
    assert [name for name, one in manners().items() if len(set(one.wordings)) < 8] == ["silent"]
