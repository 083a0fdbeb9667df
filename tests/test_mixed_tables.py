"""At every table a script, a recording and a model play the match that scripts alone play."""

import pytest

from cheaptalk.models import ModelCall, ModelSettings, Reply
from cheaptalk.players import Answer, Kind, LanguageModel, Player, Recorded, Scripted
from cheaptalk.rules import Asked, Chance, GameBox, Table, decided, game_box, games, play
from cheaptalk.styles import style_in

SEED = "mixed"
STYLES = [(name, style) for name, box in games().items() for style in box.styles]
KINDS = ("scripted", "recorded", "model")


@pytest.mark.parametrize("first", range(len(KINDS)), ids=lambda first: f"{KINDS[first]}-first")
@pytest.mark.parametrize(("name", "style"), STYLES)
def test_players_of_every_kind_play_the_same_match(name: str, style: str, first: int) -> None:
    box = game_box(name)
    game = box.rules()
    deal = game.deal(Chance(SEED).apart("deal"))
    original = play(game, deal, SEED, dict.fromkeys(box.rules.roles, box.strategies["random"]))
    table = Table(game, deal, SEED)
    places = list(game.places)
    seats = {seat.name: (places.index(seat.place) + first) % len(KINDS) for seat in game.seats}
    made: tuple[Player, ...] = (
        Scripted(box.strategies["random"]),
        Recorded(original.given),
        LanguageModel(game, style_in(box, style), "vllm/tiny", ModelSettings(), tries=1),
    )
    while not table.over:
        for ask in table.pending.values():
            asked = table.asked(ask.seat)
            answer = said(made[seats[ask.seat]], asked, box, style)
            assert answer.kind is Kind.OK
            table.answer(ask.seat, answer.action)
    assert table.outcome == original.outcome


def said(player: Player, asked: Asked, box: GameBox, style: str) -> Answer:
    """What a player answers, a model being told what to by the random strategy."""
    thinking = player.answer(asked)
    try:
        call = next(thinking)
        assert isinstance(call, ModelCall)
        words = style_in(box, style)
        assert call.messages[-1].content
        thinking.send(Reply(text=words.codec.write(decided(asked, box.strategies["random"]))))
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    raise AssertionError("a model was asked twice")
