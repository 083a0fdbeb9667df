"""Players think out loud: their calls are answered from a list."""

from cheaptalk.models import Reply
from cheaptalk.players import Answer, Call, Player
from cheaptalk.rules import DecisionRequest


def think(
    player: Player, asked: DecisionRequest, *replies: str | Reply
) -> tuple[list[Call], Answer]:
    """Let a player think about a question: the calls it makes, and what it finally answers.

    Every reply must be used up, and no more calls be made than there are replies.
    """
    calls = []
    thinking = player.answer(asked)
    left = [reply if isinstance(reply, Reply) else Reply(text=reply) for reply in replies]
    try:
        call = next(thinking)
        while True:
            calls.append(call)
            call = thinking.send(left.pop(0))
    except StopIteration as end:
        assert not left, "some replies were not asked for"
        answer: Answer = end.value
    return calls, answer
