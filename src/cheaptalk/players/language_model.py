"""A language model at the table: the game told as a conversation."""

from cheaptalk.models import Failure, Message, ModelCall, ModelSettings
from cheaptalk.players.prompting import PLAIN, Prompt
from cheaptalk.players.thinking import Answer, Kind, Thinking
from cheaptalk.rules import Asked, Game
from cheaptalk.styles import Illegal, Style, Unreadable

FAILED = {
    Failure.REFUSED: Kind.REFUSED,
    Failure.FILTERED: Kind.FILTERED,
    Failure.TIMED_OUT: Kind.TIMED_OUT,
    Failure.PROVIDER_ERROR: Kind.PROVIDER_ERROR,
}


class LanguageModel:
    """A chat model as a player.

    The briefing is the system message. What happened since the last answer becomes one user
    message, ending in the question and how to answer it; the model's own past answers stand
    between them in canonical JSON. A reply that cannot be read or is illegal is answered with the
    reason, and asked again, ``tries`` times in all. A persona stands before the briefing, advice on
    how to think after the open question; neither is repeated for past ones.
    """

    def __init__(
        self,
        game: Game,
        style: Style,
        model: str,
        settings: ModelSettings,
        prompt: Prompt = PLAIN,
        tries: int = 3,
    ) -> None:
        self.game = game
        self.style = style
        self.model = model
        self.settings = settings
        self.prompt = prompt
        self.tries = tries

    def answer(self, asked: Asked) -> Thinking:
        """Ask the model, and ask again with the reason where the reply is no legal answer."""
        messages = self.conversation(asked)
        kind = Kind.UNPARSABLE
        for attempt in range(self.tries):
            reply = yield ModelCall(
                model=self.model, messages=tuple(messages), settings=self.settings
            )
            if reply.text is None:
                return Answer(None, FAILED[reply.failure or Failure.PROVIDER_ERROR])
            try:
                action = self.style.codec.read(reply.text, asked.ask)
            except Unreadable as problem:
                kind = Kind.ILLEGAL if isinstance(problem, Illegal) else Kind.UNPARSABLE
                messages += [_said(reply.text), _again(problem, self._how(asked))]
            else:
                return Answer(action, Kind.REPAIRED if attempt else Kind.OK)
        return Answer(None, kind)

    def conversation(self, asked: Asked) -> list[Message]:
        """All that the seat heard and said, as chat messages ending in the open question."""
        seat = asked.seat
        briefing, *later = asked.heard
        words = self.style.tell(briefing.event, self.game, seat)
        messages = [Message(role="system", content=self.prompt.opening(words))]
        news: list[str] = []
        for moment in later:
            news.append(self.style.tell(moment.event, self.game, seat))
            if moment.action is not None:
                how = self.style.how(type(moment.action), self.game, seat)
                messages.append(_told([*news, how]))
                messages.append(_said(self.style.codec.write(moment.action)))
                news = []
        question = self.prompt.question(self.style.ask(asked.ask, self.game))
        messages.append(_told([*news, question]))
        return messages

    def _how(self, asked: Asked) -> str:
        return self.style.how(asked.ask.action, self.game, asked.seat)


def _told(paragraphs: list[str]) -> Message:
    return Message(role="user", content="\n\n".join(paragraphs))


def _said(text: str) -> Message:
    return Message(role="assistant", content=text)


def _again(problem: Unreadable, how: str) -> Message:
    text = f"That answer does not count: {problem}.\n\nPlease answer again. {how}"
    return Message(role="user", content=text)
