"""Profiles in a game of another package, with the metrics that its assessment defines."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cheaptalk as ct
from cheaptalk.players import RosterEntry
from cheaptalk.profiles.batteries import Battery
from cheaptalk.profiles.profiles import Profile, profile_of
from cheaptalk.rules import Assessment, Given, Mistakes, Result, Statement
from tests.fakes import install_game

pytestmark = pytest.mark.usefixtures("example_games")
THEMES = {"mistakes", "truthful", "discreet"}
"""Themes that a game's metrics do not define."""


class UltimatumAssessment(Assessment):
    """The assessment of the game of the guide in ``docs/extend/add-a-game.md``."""

    def offered(self, result: Result, seat: str, answer: Given) -> float | None:
        amount: float | None = getattr(answer.action, "amount", None)
        if amount is None or seat == "responder":
            return amount
        return float(result.instance.pie - amount)

    def mistakes(self, result: Result, seat: str) -> Mistakes:
        return Mistakes(0, sum(missed.payoff > 0 for missed in self.missed(result, seat)))

    def statements(self, result: Result) -> list[Statement]:
        return [
            Statement(request, actor, f"only ${result.instance.pie:g}." in message)
            for request, actor, action in result.given()
            if "only" in (message := getattr(action, "message", ""))
        ]

    def private_numbers(self, game: Any, instance: Any, seat: str) -> frozenset[float]:
        return frozenset({instance.pie} if seat == "proposer" else ())


def profile(path: Path) -> Profile:
    """Return the profile of a proposer that claims that the sum is small."""
    battery = Battery.model_validate(
        {
            "name": "ultimatum",
            "sizes": {"small": 12},
            "panel": {
                "fair": {"meaning": "offers half", "player": {"strategy": "fair"}},
                "chance": {"meaning": "plays at random", "player": {"strategy": "random"}},
            },
            "talkers": {"silent": {"strategy": "fair", "share": 0.4}},
            "parts": {"sums": {"title": "Sums", "game": "ultimatum"}},
            "words": {"talk": {"title": "Talk", "game": "ultimatum", "fixed": {"pies": [10, 30]}}},
        }
    )
    entry = RosterEntry.model_validate(
        {"strategies": {"ultimatum": {"proposer": "poor", "responder": "random"}}}
    )
    study = battery.study("poor", entry, "small")
    with ct.Store.open(path, create=True) as store:
        ct.run(study, store, workers=1)
        return profile_of(store, study.name, "poor", entry, battery, "small")


def test_plugin_game_has_the_metrics_of_its_assessment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_game(monkeypatch, replace(ct.get_game("ultimatum"), assessment=UltimatumAssessment()))
    made = profile(tmp_path / "s")
    assert THEMES.issubset(number.of.theme for number in made.numbers.values())
    rows = made.seats.filter(player="poor", seat="proposer")
    assert 0 < rows["false"].sum() < rows["said"].sum()
    assert rows["asked"].is_between(0, 1).all()
    assert made.seats.filter(player="poor", seat="responder")["mistakes"].sum() > 0


def test_plugin_game_without_assessment_has_no_such_metrics(tmp_path: Path) -> None:
    made = profile(tmp_path / "s")
    assert THEMES.isdisjoint(number.of.theme for number in made.numbers.values())
    assert "earned" in made.numbers
