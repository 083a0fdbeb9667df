"""Scripted, recorded and model players reproduce the match of scripted players."""

import pytest

from cheaptalk.models import ModelSettings, Reply
from cheaptalk.players import Answer, Kind, LanguageModel, Player, Recorded, Scripted
from cheaptalk.players.protocol import think
from cheaptalk.rules import Chance, DecisionRequest, Table, ask_strategy, games, get_game, play
from cheaptalk.styles import style_in

SEED = "mixed"


@pytest.mark.parametrize("name", games())
def test_players_of_every_kind_play_the_same_match(name: str) -> None:
    """The first seat has a scripted player, a recorded player and a model in turn."""
    game_spec = get_game(name)
    game, strategy = game_spec.rules(), game_spec.strategies["random"]
    instance = game.draw_instance(Chance(SEED).apart("deal"))
    original = play(game, instance, SEED, dict.fromkeys(game.roles, strategy))
    places = list(game.seats)
    for first, style in enumerate(style_in(game_spec, style) for style in game_spec.styles):
        table = Table(game, instance, SEED)
        players: tuple[Player, ...] = (
            Scripted(strategy),
            Recorded(original.given),
            LanguageModel(game, style, "vllm/tiny", ModelSettings(), tries=1),
        )
        seats = {actor.name: (places.index(actor.seat) + first) % 3 for actor in game.actors}
        while not table.over:
            for ask in table.pending.values():
                request = table.request(ask.actor)
                text = style.codec.write(ask_strategy(request, strategy))
                answer = answer_of(players[seats[ask.actor]], request, text)
                assert answer.kind is Kind.OK
                table.answer(ask.actor, answer.action)
        assert table.outcome == original.outcome


def answer_of(player: Player, request: DecisionRequest, text: str) -> Answer:
    """Return a player's answer; models reply with this text."""
    return think(player.answer(request), lambda _: Reply(text=text))
