"""Games and strategies are found by name, whoever wrote them."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cheaptalk.games.bargaining import SPEC as BARGAINING
from cheaptalk.rules import (
    CheaptalkError,
    UnknownName,
    games,
    get_game,
    registry,
    strategies,
    strategy_named,
)
from cheaptalk.rules.registry import GAMES
from tests import toys
from tests.fakes import install


def test_games_are_found_by_name_in_alphabetical_order() -> None:
    assert get_game("bargaining") is BARGAINING
    assert list(games()) == sorted(games())
    assert all(game_spec.name == name for name, game_spec in games().items())


def test_a_strategy_is_found_by_game_and_name() -> None:
    assert strategy_named("bargaining", "equal_split") is BARGAINING.strategies["equal_split"]


@pytest.mark.parametrize(
    ("game", "name", "message"),
    [
        ("bargining", "random", 'unknown game "bargining" (did you mean "bargaining"?)'),
        (
            "bargaining",
            "equalsplit",
            'unknown strategy for bargaining "equalsplit" (did you mean "equal_split"?)',
        ),
        ("zzz", "random", f'unknown game "zzz" (known: {", ".join(sorted(games()))})'),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest_one(game: str, name: str, message: str) -> None:
    with pytest.raises(UnknownName) as caught:
        strategy_named(game, name)
    assert str(caught.value) == message
    assert isinstance(caught.value, LookupError)


IMPOSTOR = replace(BARGAINING, styles={})
"""A game under the name of another."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points of packages that only seem to be installed, to be filled by a test."""
    found: list[EntryPoint] = []
    install(monkeypatch, found)
    yield found
    monkeypatch.undo()
    _look_again()


def _look_again() -> None:
    for one in (GAMES, *registry.PARTS.values()):
        one.forget()


def point(name: str, value: str, what: str) -> EntryPoint:
    return EntryPoint(name, value, f"cheaptalk.{what}")


def test_others_add_games_and_players_without_editing_ours(installed: list[EntryPoint]) -> None:
    installed += [
        point("guessing", "tests.toys:SPEC", "games"),
        point("bargaining.toys", "tests.toys:own_card", "players"),
        point("bargaining.hits", "tests.toys:HITS", "metrics"),
    ]
    _look_again()
    assert get_game("guessing") is toys.SPEC
    assert list(get_game("bargaining").metrics) == [*BARGAINING.metrics, "hits"]
    assert list(games()) == sorted(games())
    assert strategy_named("bargaining", "own_card") is toys.own_card
    assert "equal_split" in strategies("bargaining")
    assert list(strategies("guessing")) == ["random", "own_card"]


def test_a_package_that_cannot_be_imported_hides_nothing_else(installed: list[EntryPoint]) -> None:
    installed.append(point("broken", "tests.no_such_module:SPEC", "games"))
    _look_again()
    with pytest.warns(registry.PluginWarning) as caught:
        assert "bargaining" in games()
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith('the game "broken" of tests.no_such_module cannot be used (Module')
    assert message.endswith("fix, upgrade or uninstall tests.no_such_module")


def test_a_package_that_exits_when_it_is_imported_hides_nothing_else(
    installed: list[EntryPoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "quitting_game.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    installed.append(point("broken", "quitting_game:SPEC", "games"))
    _look_again()
    with pytest.warns(registry.PluginWarning, match='"broken" of quitting_game cannot be used'):
        assert "bargaining" in games()


def test_of_two_games_of_one_name_ours_is_used(installed: list[EntryPoint]) -> None:
    installed.append(point("bargaining", "tests.rules.test_registry:IMPOSTOR", "games"))
    _look_again()
    with pytest.warns(registry.PluginWarning, match="both register a game named"):
        assert get_game("bargaining") is BARGAINING


def test_a_game_s_own_strategy_goes_before_one_registered_beside_it(
    installed: list[EntryPoint],
) -> None:
    installed.append(point("bargaining.toys", "tests.toys", "players"))
    _look_again()
    with pytest.warns(registry.PluginWarning, match='strategy named "random" for bargaining'):
        found = strategies("bargaining")
    assert found["random"] is BARGAINING.strategies["random"]
    assert found["own_card"] is toys.own_card


def test_what_a_program_registers_it_can_replace_and_take_back() -> None:
    class Thing:
        """What nothing else holds."""

    one, other = Thing(), Thing()
    things: registry.Registry[Thing] = registry.Registry(
        "thing", "cheaptalk.things", registry.instances(Thing)
    )
    things.add("mine", one)
    things.add("mine", other)
    assert things.find("mine") is other
    things.remove("mine")
    with pytest.raises(UnknownName):
        things.find("mine")


def test_a_program_cannot_replace_what_a_package_registers() -> None:
    with pytest.raises(CheaptalkError, match='already registers a game named "bargaining"'):
        GAMES.add("bargaining", toys.SPEC)
