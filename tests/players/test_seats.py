"""Roster entries: their form in a study file, and the players that they create."""

from typing import Any, ClassVar

import pytest

from cheaptalk.games.bargaining.rules import Bargaining
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.persuasion.rules import Persuasion
from cheaptalk.players import (
    ImportedSeat,
    ModelSeat,
    PersonSeat,
    RosterEntry,
    StrategySeat,
)
from cheaptalk.rules import CheaptalkError, Game, UnknownName, get_game
from cheaptalk.styles import style

EACH_ROLE = {"strategies": {"persuasion": {"alice": "honest"}}}


def bargaining() -> Game:
    return get_game("bargaining").rules()


def test_entry_round_trips() -> None:
    cases: list[dict[str, Any]] = [
        {"strategy": "linear", "start": 0.8},
        {"strategies": {"bargaining": "linear", "negotiation": {"strategy": "linear", "end": 0.1}}},
        EACH_ROLE,
        {"model": "vllm/tiny@http://gpu:1/v1", "temperature": 0.0, "tries": 2, "deadline": 5.0},
        {"person": "terminal"},
        {"recorded": "0123456789abcdef"},
    ]
    for data in cases:
        entry = RosterEntry.model_validate(data)
        again = entry.model_dump(mode="json")
        assert data.items() <= again.items()
        assert RosterEntry.model_validate(again) == entry


def test_packaged_model_needs_no_provider() -> None:
    entry = RosterEntry.model_validate("smollm2")
    assert entry == RosterEntry.model_validate({"model": "hf/smollm2"})
    assert entry.written()["model"] == "hf/smollm2"


def seat_everywhere(written: Any) -> None:
    """Read an entry and seat it at bargaining and persuasion."""
    entry = RosterEntry.model_validate(written)
    for game in ("bargaining", "persuasion"):
        entry.seat(get_game(game).rules(), "alice")


def test_invalid_entry_raises_error() -> None:
    cases: list[tuple[Any, str]] = [
        (None, "null is not a player; write a strategy's name, a model such as openai/gpt-4o, a"),
        (["linear"], '["linear"] is not a player; write a strategy'),
        (dict, "in Python a function, or a class with a method __call__"),
        ({}, "a player needs one of the keys model, person, policies, policy, recorded"),
        ({"stratgy": "linear"}, 'unknown key "stratgy" (did you mean "strategy"?)'),
        ({5: "linear"}, 'unknown key "5" (known: model, person, policies, policy, '),
        ({"strategy": 5}, '{"strategy": 5} is not a strategy; write its name, or {strategy: NA'),
        ({"strategy": ["linear"]}, '{"strategy": ["linear"]} is not a strategy'),
        ({"strategy": "linear", "strat": 1}, 'unknown key "strat" (did you mean "start"?)'),
        ({"strategy": "linear", "start": 7}, "less than or equal to 1"),
        ({"strategies": "linear"}, 'strategies: "linear" is not a mapping from games to strat'),
        ({"strategies": {}}, "strategies: {} is not a mapping from games to strategies"),
        (
            {"strategies": {"bargainin": "linear"}},
            'strategies: unknown game "bargainin" (did you mean "bargaining"?)',
        ),
        (
            {"strategies": {"bargaining": "liner"}},
            'unknown strategy for bargaining "liner" (did you mean "linear"?)',
        ),
        ({"strategies": {"bargaining": 5}}, "5 is not a strategy; write its name"),
        ({"strategies": {"persuasion": {"alice": ["x"]}}}, '["x"] is not a strategy'),
        (
            {"strategies": {"bargaining": "linear"}, "start": 1},
            '"start" cannot be combined with strategies; move settings into a strategy',
        ),
        ({"model": "gpt-4o"}, '"gpt-4o" is not a model string: for the model write openai/gpt-4o'),
        ({"model": "vllm/x", "strategy": "linear"}, "model and strategy cannot be combined; "),
        ({"model": "vllm/x", "stop": [""]}, "at least 1 character"),
        ({"model": "mine"}, '"mine" is not a model string: write provider/NAME or'),
        ({"strategy:linear": None}, '"strategy:linear" lacks a space after its colon'),
        ({"model": "vllm/x", "style": "tagged"}, "write style: {deal_or_no_deal: tagged}"),
        ({"model": "vllm/x", "style": {"bargain": "v1"}}, 'unknown game "bargain" (did you mean'),
        ({"model": "opnai/gpt-4o"}, 'unknown provider "opnai" (did you mean "openai"?)'),
        ({"model": "vllm/x", "temprature": 1}, 'unknown key "temprature" (did you mean "temp'),
        ({"model": "vllm/x", "tries": 0}, "greater than or equal to 1"),
        ({"model": "vllm/x", "deadline": 0}, "greater than 0"),
        ({"model": "vllm/x", "style": "plan"}, 'unknown style of bargaining "plan" (did you mean'),
        ({"person": "phone"}, "should be browser or terminal, not phone"),
        ({"person": "terminal", "name": "Ann"}, 'unknown key "name"'),
        ({"recorded": 5}, "valid string"),
    ]
    for written, message in cases:
        with pytest.raises((ValueError, UnknownName)) as caught:
            seat_everywhere(written)
        assert message in str(caught.value)


def test_strategy_fills_seats_of_its_games_and_roles_with_all_settings() -> None:
    entry = RosterEntry.model_validate({"strategy": "linear", "start": 0.8})
    assert entry.seat(Bargaining(), "bob") == StrategySeat(
        game="bargaining", strategy="linear", settings={"start": 0.8, "end": 0.5}
    )
    assert entry.seat(Persuasion(), "bob") is None
    for honest in ({"strategy": "honest"}, EACH_ROLE):
        entry = RosterEntry.model_validate(honest)
        seat = entry.seat(Persuasion(), "alice")
        assert isinstance(seat, StrategySeat)
        assert seat.strategy == "honest"
        assert entry.seat(Persuasion(), "bob") is None
        assert entry.seat(Bargaining(), "alice") is None


def test_strategy_for_a_seat_overrides_one_for_its_role(toys: None) -> None:
    entry = RosterEntry.model_validate(
        {"strategies": {"collecting": {"giver": "random", "giver_2": "steady"}}}
    )
    game = get_game("collecting").rules()
    seats = [entry.seat(game, name) for name in game.seats]
    named = [seat.strategy if isinstance(seat, StrategySeat) else None for seat in seats]
    assert named == ["random", "steady", "random", None]
    assert entry.parts("collecting") == ["giver", "giver_2"]
    assert entry.parts("bargaining") == []


def test_models_and_people_record_the_prompt_style_of_their_game() -> None:
    by_game = {"model": "vllm/tiny", "style": {"deal_or_no_deal": "tagged"}}
    for written, game, name in (
        (by_game, DealOrNoDeal(), "tagged"),
        (by_game, Bargaining(), "plain"),
        ({"person": "terminal"}, Bargaining(), "plain"),
    ):
        seat = RosterEntry.model_validate(written).seat(game, next(iter(game.seats)))
        assert isinstance(seat, ModelSeat | PersonSeat)
        assert (seat.style, seat.words) == (name, style(game.name, name).digest)
        assert seat.player(game).style.name == name
    assert RosterEntry.model_validate(by_game).written()["style"] == by_game["style"]


def test_tries_default_to_those_of_the_game() -> None:
    class Patient(Bargaining):
        """A game with more tries than the default."""

        tries: ClassVar[int] = 5

    models = [ModelSeat(model="vllm/x").player(game) for game in (Patient(), Bargaining())]
    assert [model.tries for model in models] == [5, 3]


def test_imported_player_cannot_play() -> None:
    spec = ImportedSeat(imported="glee", model="gpt-4o")
    with pytest.raises(CheaptalkError, match="imported from glee and cannot play again"):
        spec.player(bargaining())
