"""A person at the table, asked through a page or a terminal."""

from cheaptalk.players.player import Answer, Kind, PersonCall, Thinking
from cheaptalk.rules import Asked, Game, Moment
from cheaptalk.styles import CODECS, Style, Unreadable


class Person:
    """A person as a player: reads the same words as a model, and fills in a form.

    The form's content comes back as a JSON object, in whatever style the game is told. What is
    illegal is asked again with the reason, as often as it takes.
    """

    def __init__(self, game: Game, style: Style) -> None:
        self.game = game
        self.style = style

    def answer(self, asked: Asked) -> Thinking:
        """Show what is new, ask, and ask again until the answer is legal."""
        problem: str | None = None
        while True:
            reply = yield PersonCall(
                seat=asked.seat,
                news=tuple(self.style.story(since_answer(asked), self.game, asked.seat)),
                question=self.style.tell(asked.event, self.game, asked.seat),
                how=self.style.how(asked.ask.action, self.game, asked.seat),
                form=asked.ask.action.model_json_schema(),
                problem=problem,
            )
            if reply.text is None:
                return Answer(None, Kind.TIMED_OUT)
            try:
                action = CODECS["json"].read(reply.text, asked.ask)
            except Unreadable as refusal:
                problem = str(refusal)
            else:
                return Answer(action, Kind.OK if problem is None else Kind.REPAIRED)


def since_answer(asked: Asked) -> list[Moment]:
    """What the seat was told since it last answered; everything if it never did."""
    last = 0
    for place, moment in enumerate(asked.heard):
        if moment.action is not None:
            last = place + 1
    return list(asked.heard[last:])
