"""A person at the table, asked through a terminal, a page, or whatever else is registered."""

from typing import ClassVar

from pydantic import field_validator

from cheaptalk.players.protocol import Answer, Kind, PersonCall, Thinking
from cheaptalk.players.seats import NO_SOURCES, SeatSpec, Sources
from cheaptalk.rules import Asked, Game, Moment
from cheaptalk.rules.registry import Registry, instances
from cheaptalk.styles import CODECS, Style, Unreadable, style

MEDIA: Registry[str] = Registry("way to ask a person", "cheaptalk.people", instances(str))
"""How people are asked, by name: each says how one plays so."""
TERMINAL = "a person plays with: cheaptalk play"


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
    answered = [place for place, moment in enumerate(asked.heard) if moment.action is not None]
    return list(asked.heard[answered[-1] + 1 if answered else 0 :])


class PersonSeat(SeatSpec):
    """A seat filled by a person.

    Attributes:
        person: how the person is asked, one of :data:`MEDIA`.
        style: the style of the game's words; the game's default one if not set.
        words: digest of the style's words, noted when the person sits down.
    """

    may_fail: ClassVar[bool] = True

    person: str
    style: str | None = None
    words: str | None = None

    @field_validator("person")
    @classmethod
    def _is_known(cls, medium: str) -> str:
        if medium not in MEDIA:
            raise ValueError(f"should be {' or '.join(MEDIA)}, not {medium}")
        return medium

    def seat(self, game: Game, place: str) -> "PersonSeat":
        """The same person with the words of this game noted."""
        words = style(game.name, self.style)
        return self.model_copy(update={"style": words.name, "words": words.digest})

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Person:
        """The person at a game."""
        return Person(game, style(game.name, self.style))

    def missing(self, game: Game, sources: Sources) -> str | None:
        """How one plays, where nobody asks people."""
        return MEDIA.find(self.person) if sources.ask_person is None else None

    def unbatchable(self) -> str:
        """People do not wait for a day."""
        return (
            "nobody can be asked to wait for a provider's batch; play with people without --batch"
        )
