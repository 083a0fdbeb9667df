"""Run a player on prepared replies."""

from cheaptalk.models import Reply
from cheaptalk.players import Answer, Call, Player
from cheaptalk.rules import DecisionRequest


def think(
    player: Player, request: DecisionRequest, *replies: str | Reply
) -> tuple[list[Call], Answer]:
    """Run a player on a request; return its calls and its answer.

    The player must make exactly one call per reply.
    """
    calls = []
    thinking = player.answer(request)
    remaining = [reply if isinstance(reply, Reply) else Reply(text=reply) for reply in replies]
    try:
        call = next(thinking)
        while True:
            calls.append(call)
            call = thinking.send(remaining.pop(0))
    except StopIteration as end:
        assert not remaining, "some replies were not used"
        answer: Answer = end.value
    return calls, answer
