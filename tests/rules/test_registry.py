"""Games and strategies of all packages are found by name."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.games.bargaining import SPEC as BARGAINING
from cheaptalk.rules import games, registry, strategies, strategy_named
from cheaptalk.rules.registry import GAMES
from tests import toys
from tests.fakes import install


def test_games_are_listed_alphabetically() -> None:
    assert ct.get_game("bargaining") is BARGAINING
    assert list(games()) == sorted(games())
    assert all(game_spec.name == name for name, game_spec in games().items())


def test_unknown_name_suggests_nearest() -> None:
    cases = [
        ("bargining", "random", 'unknown game "bargining" (did you mean "bargaining"?)'),
        (
            "bargaining",
            "equalsplit",
            'unknown strategy for bargaining "equalsplit" (did you mean "equal_split"?)',
        ),
        ("zzz", "random", f'unknown game "zzz" (known: {", ".join(sorted(games()))})'),
    ]
    for game, name, message in cases:
        with pytest.raises(ct.rules.UnknownName) as caught:
            strategy_named(game, name)
        assert str(caught.value) == message
        assert isinstance(caught.value, LookupError)


IMPOSTOR = replace(BARGAINING, styles={})
"""A different game with the name of a built-in one."""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Yield the entry points of simulated packages, an empty list that tests fill."""
    entries: list[EntryPoint] = []
    install(monkeypatch, entries)
    yield entries
    monkeypatch.undo()
    _reload()


def _reload() -> None:
    for registered in (GAMES, *registry.PARTS.values()):
        registered.forget()


def point(name: str, value: str, kind: str) -> EntryPoint:
    return EntryPoint(name, value, f"cheaptalk.{kind}")


def test_packages_add_games_strategies_and_metrics(installed: list[EntryPoint]) -> None:
    installed += [
        point("guessing", "tests.toys:SPEC", "games"),
        point("bargaining.toys", "tests.toys:own_card", "players"),
        point("bargaining.hits", "tests.toys:HITS", "metrics"),
    ]
    _reload()
    assert ct.get_game("guessing") is toys.SPEC
    assert list(ct.get_game("bargaining").metrics) == [*BARGAINING.metrics, "hits"]
    assert list(games()) == sorted(games())
    assert strategy_named("bargaining", "own_card") is toys.own_card
    assert "equal_split" in strategies("bargaining")
    assert list(strategies("guessing")) == ["random", "own_card"]


def test_broken_package_warns_and_hides_nothing_else(
    installed: list[EntryPoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "quitting_game.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("tests.no_such_module", "quitting_game"):
        installed[:] = [point("broken", f"{module}:SPEC", "games")]
        _reload()
        with pytest.warns(registry.PluginWarning) as caught:
            assert "bargaining" in games()
        (message,) = [str(warning.message) for warning in caught]
        assert message.startswith(f'the game "broken" of {module} cannot be used (')
        assert message.endswith(f"fix, upgrade or uninstall {module}")


def test_built_in_game_wins_over_plugin_with_same_name(installed: list[EntryPoint]) -> None:
    installed.append(point("bargaining", "tests.rules.test_registry:IMPOSTOR", "games"))
    _reload()
    with pytest.warns(registry.PluginWarning, match="both register a game named"):
        assert ct.get_game("bargaining") is BARGAINING


def test_own_strategy_wins_over_plugin_with_same_name(
    installed: list[EntryPoint],
) -> None:
    installed.append(point("bargaining.toys", "tests.toys", "players"))
    _reload()
    with pytest.warns(registry.PluginWarning, match='strategy named "random" for bargaining'):
        available = strategies("bargaining")
    assert available["random"] is BARGAINING.strategies["random"]
    assert available["own_card"] is toys.own_card


def test_registered_object_can_be_replaced_and_removed() -> None:
    class Thing:
        """A type that no other registry contains."""

    first, second = Thing(), Thing()
    things: registry.Registry[Thing] = registry.Registry(
        "thing", "cheaptalk.things", registry.instances(Thing)
    )
    things.add("mine", first)
    things.add("mine", second)
    assert things.find("mine") is second
    things.remove("mine")
    with pytest.raises(ct.rules.UnknownName):
        things.find("mine")
    with pytest.raises(ct.CheaptalkError, match='already registers a game named "bargaining"'):
        GAMES.add("bargaining", toys.SPEC)


def test_own_object_replaces_a_built_in_that_was_loaded_by_itself() -> None:
    GAMES.forget()  # so that only the next game is loaded
    assert GAMES["bargaining"] is BARGAINING
    own = replace(BARGAINING, series={})
    GAMES.put("bargaining", own)
    try:
        assert GAMES["bargaining"] is own
    finally:
        GAMES.remove("bargaining")
    assert GAMES["bargaining"] is BARGAINING
