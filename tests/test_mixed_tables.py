"""Scripted, recorded and model players reproduce the match of scripted players."""

import pytest

from cheaptalk.models import ModelSettings, Reply
from cheaptalk.players import Answer, Kind, LanguageModel, Player, Recorded, Scripted
from cheaptalk.players.protocol import think
from cheaptalk.rules import Chance, DecisionRequest, Table, decided, games, get_game, play
from cheaptalk.styles import style_in

SEED = "mixed"


@pytest.mark.parametrize("name", games())
def test_players_of_every_kind_play_the_same_match(name: str) -> None:
    """The first seat has a scripted player, a recorded player and a model in turn."""
    for number, style in enumerate(get_game(name).styles):
        check_match(name, style, number)


def check_match(name: str, style: str, first: int) -> None:
    """Play a match with players of three kinds, of which ``first`` takes the first seat."""
    game_spec = get_game(name)
    game = game_spec.rules()
    instance = game.draw_instance(Chance(SEED).apart("deal"))
    original = play(
        game, instance, SEED, dict.fromkeys(game_spec.rules.roles, game_spec.strategies["random"])
    )
    table = Table(game, instance, SEED)
    places = list(game.seats)
    seats = {seat.name: (places.index(seat.seat) + first) % 3 for seat in game.actors}
    words = style_in(game_spec, style)
    made: tuple[Player, ...] = (
        Scripted(game_spec.strategies["random"]),
        Recorded(original.given),
        LanguageModel(game, words, "vllm/tiny", ModelSettings(), tries=1),
    )
    while not table.over:
        for ask in table.pending.values():
            request = table.request(ask.actor)
            action = decided(request, game_spec.strategies["random"])
            answer = answer_of(made[seats[ask.actor]], request, words.codec.write(action))
            assert answer.kind is Kind.OK
            table.answer(ask.actor, answer.action)
    assert table.outcome == original.outcome


def answer_of(player: Player, request: DecisionRequest, text: str) -> Answer:
    """Return a player's answer; models reply with this text."""
    return think(player.answer(request), lambda _: Reply(text=text))
