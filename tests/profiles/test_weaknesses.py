"""Weaknesses: planted ones are named first, and players without any are not accused."""

import pytest

from cheaptalk.games.manners import manners
from cheaptalk.profiles.manipulations import manipulations
from cheaptalk.profiles.weaknesses import examine
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


def test_every_manner_but_silence_has_eight_wordings() -> None:
    assert [name for name, one in manners().items() if len(set(one.wordings)) < 8] == ["silent"]
