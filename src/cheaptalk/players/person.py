"""People as players, who answer in a terminal, in a browser or through another medium."""

from collections.abc import Iterator
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from cheaptalk.models import Failure
from cheaptalk.players.protocol import Answer, Kind, PersonCall, Player, Thinking
from cheaptalk.players.seats import NO_SOURCES, RosterEntry, SeatSpec, Sources
from cheaptalk.rules import ChatLine, DecisionRequest, Game, Moment, observed
from cheaptalk.rules.errors import LocatedError
from cheaptalk.rules.registry import Registry, instances
from cheaptalk.styles import CODECS, Style, Unparsable, style

MEDIA: Registry[str] = Registry("medium for people", "cheaptalk.people", instances(str))
"""The media through which people answer, by name, each with the command to play."""
TERMINAL = "a person plays with: cheaptalk play"
BROWSER = "people play with: cheaptalk serve"
LIVE_CHAT = ("browser",)
"""Media that show a chat as it happens; others show new lines with the next request."""


class Person:
    """A person as a player, who reads the same text as a model and fills in a form.

    The form returns a JSON object in any prompt style. After an illegal answer, the request is
    repeated with the reason, without a limit. If the person has left or does not answer before the
    deadline, the substitute answers; without a substitute, the actor forfeits.
    """

    def __init__(
        self,
        game: Game,
        style: Style,
        deadline: float | None = None,
        substitute: Player | None = None,
        *,
        reads_chat: bool = False,
    ) -> None:
        self.game = game
        self.style = style
        self.deadline = deadline
        self.substitute = substitute
        self.reads_chat = reads_chat

    def answer(self, request: DecisionRequest) -> Thinking:
        problem: str | None = None
        attempt = 0
        while True:
            reply = yield PersonCall(
                seat=request.actor,
                news=tuple(self._news(request)),
                question=self.style.tell(request.event, self.game, request.actor),
                how=self.style.how(request.ask.action, self.game, request.actor),
                form=request.ask.action.model_json_schema(),
                problem=problem,
                deadline=self.deadline,
                attempt=attempt,
            )
            if reply.text is None:
                if self.substitute is None:
                    has_left = reply.failure is Failure.LEFT
                    return Answer(None, Kind.LEFT if has_left else Kind.TIMED_OUT)
                answer = yield from self.substitute.answer(request)
                return answer if answer.action is None else Answer(answer.action, Kind.STOOD_IN)
            try:
                action = CODECS["json"].read(reply.text, request.ask)
            except Unparsable as refusal:
                problem, attempt = str(refusal), attempt + 1
            else:
                return Answer(action, Kind.OK if problem is None else Kind.REPAIRED)

    def _news(self, request: DecisionRequest) -> Iterator[str]:
        """Yield the texts of the observations since the actor's last answer."""
        teller = self.style.to(self.game, request.actor)
        for item in new_observations(request, chat=self.reads_chat):
            if isinstance(item, ChatLine):
                yield teller.chat_line(item, own=item.actor == request.actor)
            else:
                yield teller.tell(item.event)


def new_observations(request: DecisionRequest, *, chat: bool = False) -> list[Moment | ChatLine]:
    """Return the observations since the actor's last answer, or all if there was none.

    Args:
        chat: whether to include the lines of chat.
    """
    items = list(observed(request.heard, request.chat if chat else ()))
    own = [index for index, item in enumerate(items) if getattr(item, "action", None) is not None]
    return items[own[-1] + 1 if own else 0 :]


class PersonSeat(SeatSpec):
    """The settings of a person as a player.

    Attributes:
        person: the medium, one of :data:`MEDIA`.
        style: the prompt style; the game's default if not set.
        words: digest of the prompt style's templates, set when the match is planned.
        deadline: timeout of each request, in seconds; None for no limit.
        away: roster entry of the substitute that answers for an absent person; if None, the actor
            forfeits.
    """

    optional: ClassVar[frozenset[str]] = frozenset({"deadline", "away"})
    may_fail: ClassVar[bool] = True

    person: str
    style: str | None = None
    words: str | None = None
    deadline: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    away: RosterEntry | None = None

    @model_validator(mode="after")
    def _is_away_at_a_deadline(self) -> "PersonSeat":
        if self.away is not None and self.deadline is None:
            raise LocatedError("requires a deadline; add deadline: SECONDS", "away")
        return self

    @field_validator("person")
    @classmethod
    def _is_known(cls, medium: str) -> str:
        if medium not in MEDIA:
            raise ValueError(f"should be {' or '.join(MEDIA)}, not {medium}")
        return medium

    def seat(self, game: Game, seat: str) -> "PersonSeat":
        """Return the settings with prompt style and substitute player resolved for a game."""
        words = style(game.name, self.style)
        resolved: dict[str, Any] = {"style": words.name, "words": words.digest}
        if self.away is not None:
            substitute = self.away.seat(game, seat)
            if substitute is None:
                raise ValueError(f"away: the substitute cannot play {seat} of {game.name}")
            resolved["away"] = RosterEntry.model_validate(substitute)
        return self.model_copy(update=resolved)

    def player(self, game: Game, sources: Sources = NO_SOURCES) -> Person:
        substitute = None if self.away is None else self.stands_in(game).player(game, sources)
        words, is_live = style(game.name, self.style), self.person in LIVE_CHAT
        return Person(game, words, self.deadline, substitute, reads_chat=not is_live)

    def stands_in(self, game: Game) -> SeatSpec:
        assert self.away is not None
        form = self.away.form
        candidates = (
            [form] if isinstance(form, SeatSpec) else (form.seat(game, seat) for seat in game.seats)
        )
        return next(candidate for candidate in candidates if candidate is not None)

    def missing(self, game: Game, sources: Sources) -> str | None:
        if sources.ask_person is None:
            return MEDIA.find(self.person)
        return None if self.away is None else self.stands_in(game).missing(game, sources)

    def unbatchable(self) -> str:
        return "people cannot wait for a provider's batch; run without batches"
