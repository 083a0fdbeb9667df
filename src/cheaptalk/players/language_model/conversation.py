"""What one seat heard and said in a match, as chat messages."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cheaptalk.models import ChatMessage
from cheaptalk.players.language_model.treatments import LastTurns, Prompt
from cheaptalk.rules import Action, Asked, Event, Game, Moment
from cheaptalk.styles import Style, disarmed


class Conversation:
    """The chat of one seat, put into words moment by moment: each is rendered once.

    The briefing is the system message. A *turn* is one user message, with what happened since the
    last answer, the question and how to answer it, and the seat's answer to it. What happened
    after the last answer waits for the next question.

    Args:
        seat: whose chat it is.
        heard: all that it was told and asked, its briefing first; more may come.
        texts: its answers as it wrote them, by their places in ``heard``; those that are not here
            are shown in canonical form.
    """

    def __init__(
        self,
        game: Game,
        style: Style,
        prompt: Prompt,
        seat: str,
        heard: Sequence[Moment],
        texts: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.style = style
        self.prompt = prompt
        self.seat = seat
        self.heard = heard
        self._teller = style.to(game, seat)
        first = heard[0].event
        briefing = self._teller.tell(first)
        self._last: tuple[Event, str] = (first, briefing)
        self.system = ChatMessage(role="system", content=prompt.opening(briefing))
        self._read = 1
        self._news: list[str] = []
        self._turns: list[tuple[ChatMessage, ChatMessage]] = []
        self._notes: tuple[ChatMessage, ...] = ()
        self._texts = dict(texts)
        self._hows: dict[type[Action], str] = {}

    def catch_up(self) -> None:
        """Put into words what the seat lived through since it was last asked."""
        for place in range(self._read, len(self.heard)):
            event, action = self.heard[place]
            self._news.append(self._words(event))
            if action is not None:
                question = user_message([*self._news, self.how(type(action))])
                answer = self._texts.get(place) or self.style.codec.write(action)
                self._turns.append((question, assistant_message(answer)))
                self._news = []
        self._read = len(self.heard)

    def how(self, action: type[Action]) -> str:
        """How an answer of this type is to be given."""
        if action not in self._hows:
            self._hows[action] = self._teller.how(action)
        return self._hows[action]

    def _words(self, event: Event) -> str:
        """An event in words; an open question is told again when it has been answered."""
        if event is not self._last[0]:
            self._last = event, self._teller.tell(event)
        return self._last[1]

    def past(self) -> list[ChatMessage]:
        """The briefing and what the player's history keeps of the turns since."""
        turns = self._turns
        if isinstance(self.prompt.history, LastTurns):
            turns = turns[max(0, len(turns) - self.prompt.history.last) :]
        return [self.system, *self._notes, *(one for turn in turns for one in turn)]

    def question(self, asked: Asked, *more: str) -> ChatMessage:
        """The open question after what is new, with how to answer it, advice, and more."""
        event = self._words(asked.event)
        return user_message(
            [*self._news, event, self.how(asked.ask.action), *more, *self.prompt.advice]
        )

    @property
    def unsummarised(self) -> bool:
        """Whether there are turns that the seat is to sum up before it goes on."""
        return self.prompt.history == "summary" and bool(self._turns)

    def sum_up(self, asked_for: str, summary: str) -> None:
        """Let the player's own summary stand for all turns so far."""
        self._notes = (user_message([asked_for]), assistant_message(summary))
        self._turns = []

    def keep(self, text: str) -> None:
        """Remember the reply to the open question as it was written, if past answers are shown
        so."""
        if self.prompt.past_answers == "verbatim":
            self._texts[len(self.heard)] = text


def user_message(paragraphs: Sequence[str]) -> ChatMessage:
    """What the model is told."""
    return ChatMessage(role="user", content="\n\n".join(paragraphs))


def assistant_message(text: str) -> ChatMessage:
    """What the model said, but for tokens of a chat template that it may have been talked into."""
    return ChatMessage(role="assistant", content=disarmed(text))
