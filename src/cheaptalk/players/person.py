"""A person at the table, asked through a terminal, a page, or whatever else is registered."""

from typing import Any, ClassVar

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from cheaptalk.models import Failure
from cheaptalk.players.protocol import Answer, Kind, PersonCall, Player, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterEntry, SeatSpec, Sources
from cheaptalk.rules import Asked, Game, Moment
from cheaptalk.rules.registry import Registry, instances
from cheaptalk.styles import CODECS, Style, Unreadable, style

MEDIA: Registry[str] = Registry("way to ask a person", "cheaptalk.people", instances(str))
"""How people are asked, by name: each says how one plays so."""
TERMINAL = "a person plays with: cheaptalk play"
BROWSER = "people play with: cheaptalk serve"


class Person:
    """A person as a player: reads the same words as a model, and fills in a form.

    The form's content comes back as a JSON object, in whatever style the game is told. What is
    illegal is asked again with the reason, as often as it takes. Where no answer comes before the
    deadline, or they have left, whoever stands in answers in their place; without one the seat
    forfeits.
    """

    def __init__(
        self,
        game: Game,
        style: Style,
        deadline: float | None = None,
        stand_in: Player | None = None,
    ) -> None:
        self.game = game
        self.style = style
        self.deadline = deadline
        self.stand_in = stand_in

    def answer(self, asked: Asked) -> Thinking:
        """Show what is new, ask, and ask again until the answer is legal."""
        problem: str | None = None
        attempt = 0
        while True:
            reply = yield PersonCall(
                seat=asked.seat,
                news=tuple(self.style.story(since_answer(asked), self.game, asked.seat)),
                question=self.style.tell(asked.event, self.game, asked.seat),
                how=self.style.how(asked.ask.action, self.game, asked.seat),
                form=asked.ask.action.model_json_schema(),
                problem=problem,
                deadline=self.deadline,
                attempt=attempt,
            )
            if reply.text is None and self.stand_in is None:
                return Answer(None, Kind.LEFT if reply.failure is Failure.LEFT else Kind.TIMED_OUT)
            if reply.text is None:
                return (yield from self._stood_in(asked))
            try:
                action = CODECS["json"].read(reply.text, asked.ask)
            except Unreadable as refusal:
                problem, attempt = str(refusal), attempt + 1
            else:
                return Answer(action, Kind.OK if problem is None else Kind.REPAIRED)

    def _stood_in(self, asked: Asked) -> Thinking:
        """The answer of whoever stands in, told apart from the person's own."""
        assert self.stand_in is not None
        answer = yield from self.stand_in.answer(asked)
        return answer if answer.action is None else Answer(answer.action, Kind.STOOD_IN)


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
        deadline: seconds in which each question is to be answered; None for as long as it takes.
        away: who answers in the person's place where no answer comes in time, written as on a
            roster; None where the seat then forfeits.
    """

    may_fail: ClassVar[bool] = True

    person: str
    style: str | None = None
    words: str | None = None
    deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    away: RosterEntry | None = None

    @model_serializer(mode="wrap")
    def _without_nothing(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Somebody without a deadline is stored as they always were."""
        data: dict[str, Any] = whole(self)
        optional = {"deadline", "away"}
        return {key: value for key, value in data.items() if key not in optional or value}

    @model_validator(mode="after")
    def _is_away_at_a_deadline(self) -> "PersonSeat":
        if self.away is not None and self.deadline is None:
            raise ValueError("away: nobody is away without a deadline; set deadline: SECONDS, too")
        return self

    @field_validator("person")
    @classmethod
    def _is_known(cls, medium: str) -> str:
        if medium not in MEDIA:
            raise ValueError(f"should be {' or '.join(MEDIA)}, not {medium}")
        return medium

    def seat(self, game: Game, place: str) -> "PersonSeat":
        """The same person with the words of this game noted."""
        words = style(game.name, self.style)
        noted: dict[str, Any] = {"style": words.name, "words": words.digest}
        if self.away is not None:
            seated = self.away.seat(game, place)
            if seated is None:
                raise ValueError(f"away: whoever stands in cannot play {place} of {game.name}")
            noted["away"] = RosterEntry.model_validate(seated)
        return self.model_copy(update=noted)

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Person:
        """The person at a game."""
        stand_in = None if self.away is None else self.stands_in(game).player(game, sources)
        return Person(game, style(game.name, self.style), self.deadline, stand_in)

    def stands_in(self, game: Game) -> SeatSpec:
        """Who answers in the person's place at a game, where somebody does."""
        assert self.away is not None
        form = self.away.form
        seated = [form] if isinstance(form, SeatSpec) else (
            form.seat(game, place) for place in game.places
        )  # fmt: skip
        return next(one for one in seated if one is not None)

    def missing(self, game: Game, sources: Sources) -> str | None:
        """How one plays, where nobody asks people; else what whoever stands in lacks."""
        if sources.ask_person is None:
            return MEDIA.find(self.person)
        return None if self.away is None else self.stands_in(game).missing(game, sources)

    def unbatchable(self) -> str:
        """People do not wait for a day."""
        return (
            "nobody can be asked to wait for a provider's batch; play with people without --batch"
        )
