"""Chat messages made of an actor's observations and answers in a match."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cheaptalk.models import ChatMessage
from cheaptalk.players.language_model.treatments import LastTurns, Prompt
from cheaptalk.rules import Action, DecisionRequest, Event, Game, Moment
from cheaptalk.styles import Style, escaped


class Conversation:
    """The chat of one actor in a match, in which each observation is rendered once.

    The briefing is the system message. A *turn* is one user message, with the events since the last
    answer, the request and the answer format, followed by the actor's answer. Events after the last
    answer are part of the next turn.

    Args:
        heard: all observations of the actor, starting with the briefing; the sequence may grow.
        texts: the actor's verbatim responses by their index in ``heard``; other answers are shown
            in canonical form.
    """

    def __init__(
        self,
        game: Game,
        style: Style,
        prompt: Prompt,
        actor: str,
        heard: Sequence[Moment],
        texts: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.style = style
        self.prompt = prompt
        self.actor = actor
        self.heard = heard
        self._renderer = style.to(game, actor)
        first = heard[0].event
        briefing = self._renderer.tell(first)
        self._last: tuple[Event, str] = (first, briefing)
        self.system = ChatMessage(role="system", content=prompt.opening(briefing))
        self._read = 1
        self._news: list[str] = []
        self._turns: list[tuple[ChatMessage, ChatMessage]] = []
        self._notes: tuple[ChatMessage, ...] = ()
        self._texts = dict(texts)
        self._hows: dict[type[Action], str] = {}

    def catch_up(self) -> None:
        """Render the observations since the last request."""
        for index in range(self._read, len(self.heard)):
            event, action = self.heard[index]
            self._news.append(self._text(event))
            if action is not None:
                question = user_message([*self._news, self.how(type(action))])
                answer = self._texts.get(index) or self.style.codec.write(action)
                self._turns.append((question, assistant_message(answer)))
                self._news = []
        self._read = len(self.heard)

    def how(self, action: type[Action]) -> str:
        if action not in self._hows:
            self._hows[action] = self._renderer.how(action)
        return self._hows[action]

    def _text(self, event: Event) -> str:
        """Render an event; reuse the previous text if the event is the same."""
        if event is not self._last[0]:
            self._last = event, self._renderer.tell(event)
        return self._last[1]

    def past(self) -> list[ChatMessage]:
        """Return the briefing, the summary if there is one, and the remembered turns."""
        turns = self._turns
        if isinstance(self.prompt.history, LastTurns):
            turns = turns[max(0, len(turns) - self.prompt.history.last) :]
        return [self.system, *self._notes, *(message for turn in turns for message in turn)]

    def question(self, request: DecisionRequest, *extra: str) -> ChatMessage:
        """Return the message with new events, the request, the answer format and advice."""
        event = self._text(request.event)
        return user_message(
            [*self._news, event, self.how(request.ask.action), *extra, *self.prompt.advice]
        )

    @property
    def unsummarised(self) -> bool:
        """Whether the player must summarise turns before the next answer."""
        return self.prompt.history == "summary" and bool(self._turns)

    def sum_up(self, prompt: str, summary: str) -> None:
        """Replace all turns so far by the player's summary."""
        self._notes = (user_message([prompt]), assistant_message(summary))
        self._turns = []

    def keep(self, text: str) -> None:
        """Store a response if the prompt shows past answers verbatim."""
        if self.prompt.past_answers == "verbatim":
            self._texts[len(self.heard)] = text


def user_message(paragraphs: Sequence[str]) -> ChatMessage:
    """Join paragraphs into a user message."""
    return ChatMessage(role="user", content="\n\n".join(paragraphs))


def assistant_message(text: str) -> ChatMessage:
    """Return a model's response as a message with escaped chat template tokens."""
    return ChatMessage(role="assistant", content=escaped(text))
