"""Games and strategies are found by name, whoever wrote them."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points

import pytest

from cheaptalk.games.bargaining import BOX as BARGAINING
from cheaptalk.rules import (
    CheaptalkError,
    UnknownName,
    game_box,
    games,
    registry,
    strategies,
    strategy_named,
)
from tests import toys


def test_games_are_found_by_name_in_alphabetical_order() -> None:
    assert game_box("bargaining") is BARGAINING
    assert list(games()) == sorted(games())
    assert all(box.name == name for name, box in games().items())


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


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy registered as a game, and its strategies as players of bargaining."""
    found = {
        "cheaptalk.games": [
            EntryPoint("guessing", "tests.toys:BOX", "cheaptalk.games"),
            *entry_points(group="cheaptalk.games"),
        ],
        "cheaptalk.players": [
            EntryPoint("bargaining.toys", "tests.toys:own_card", "cheaptalk.players")
        ],
    }
    monkeypatch.setattr(registry, "entry_points", lambda group: found[group])
    for cached in (games, strategies):
        cached.cache_clear()
    yield
    for cached in (games, strategies):
        cached.cache_clear()


def test_a_second_strategy_of_one_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = entry_points(group="cheaptalk.games")
    clash = EntryPoint("bargaining.toys", "tests.toys", "cheaptalk.players")
    monkeypatch.setattr(
        registry, "entry_points", lambda group: [clash] if group.endswith("players") else installed
    )
    game_box("bargaining")
    strategies.cache_clear()
    with pytest.raises(CheaptalkError, match='a strategy for bargaining named "random"'):
        strategies("bargaining")
    strategies.cache_clear()


def test_a_second_game_of_one_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = EntryPoint("guessing", "tests.toys:BOX", "cheaptalk.games")
    monkeypatch.setattr(registry, "entry_points", lambda group: [one, one])
    games.cache_clear()
    with pytest.raises(CheaptalkError, match='a game named "guessing"'):
        games()
    games.cache_clear()


@pytest.mark.usefixtures("more")
def test_others_add_games_and_players_without_editing_ours() -> None:
    assert game_box("guessing") is toys.BOX
    assert list(games()) == sorted(games())
    assert strategy_named("bargaining", "own_card") is toys.own_card
    assert "equal_split" in strategies("bargaining")
    assert list(strategies("guessing")) == ["random", "own_card"]
