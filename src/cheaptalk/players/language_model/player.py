"""Language models as players, which see a match as a conversation."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from cheaptalk.models import (
    AnswerForm,
    AskedRoute,
    ChatMessage,
    Failure,
    ModelCall,
    ModelSettings,
    Reply,
)
from cheaptalk.players.language_model.replies import (
    DRAFT,
    Candidates,
    Choice,
    Question,
    choosing,
    distinct,
    echoed,
    fault,
    legal_example,
    listing,
    numbered,
    refinable,
)
from cheaptalk.players.language_model.treatments import PLAIN, LastTurns, Prompt, Refine
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.rules import Action, DecisionRequest, Event, Game, Moment
from cheaptalk.styles import Style, Unparsable, escaped


class Conversation:
    """The chat of one actor in a match, in which each observation is rendered once.

    The briefing is the system message. A *turn* is one user message, with the events since the last
    answer, the request and the answer format, followed by the actor's answer. Events after the last
    answer are part of the next turn.

    The observations ``heard``, which start with the briefing, may grow. ``texts`` has the actor's
    verbatim responses by their index in ``heard``; other answers are shown in canonical form.
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


DECLINED = (Kind.REFUSED, Kind.FILTERED)
"""Kinds of failures after which the same request may succeed."""
SUM_UP = (
    "Before the game goes on, sum up for yourself what has happened so far, in at most 200 words: "
    "from now on you will remember the rules and your summary, and nothing else. Keep what you may "
    "need to decide well: what was offered, said and done, by whom and when, and what you plan. Do "
    "not answer anything yet."
)
"""The prompt for a summary."""

AGAIN = "Your last answer does not count: {reason}. Please answer again."
"""The sentence before a repeated request."""

T = TypeVar("T")


class ReadResult(NamedTuple, Generic[T]):
    """The result of reading a response: the parsed value or None, its kind, and the full text."""

    value: T | None
    kind: Kind
    text: str = ""


Reading: TypeAlias = Generator[ModelCall, Reply, ReadResult[T]]


@dataclass(eq=False)
class LanguageModel:
    """A chat model as a player; one object plays one match.

    The messages are those of :class:`.Conversation`. After an unreadable or illegal response, the
    model gets the reason and the complete request again, up to ``tries`` attempts in total, but not
    its response, which small models often repeat. After a refusal, the model gets the same request
    again. A persona precedes the briefing, and advice on
    how to think follows the open request.

    Summaries, candidates and choices have separate calls with the same retries. If such a call
    fails at the last attempt, there is no answer.
    """

    game: Game
    style: Style
    model: str
    settings: ModelSettings
    prompt: Prompt = PLAIN
    tries: int = 3
    answers: AskedRoute = "auto"
    _conversations: dict[str, Conversation] = field(default_factory=dict, init=False)

    def answer(self, request: DecisionRequest) -> Thinking:
        talk = self._conversation(request)
        refine = self.prompt.refine if refinable(request.ask.action) else None
        repaired = False
        if talk.unsummarised:
            messages = [*talk.past(), user_message([SUM_UP])]
            summary = yield from self._read(talk.actor, messages, _words, None)
            if summary.value is None:
                return Answer(None, summary.kind)
            talk.sum_up(SUM_UP, summary.value)
            repaired = summary.kind is Kind.REPAIRED
        if refine is not None:
            result = yield from self._refined(talk, request, refine)
        else:
            result = yield from self._plain(talk, request)
        if result.value is None:
            return Answer(None, result.kind)
        talk.keep(result.text)
        return Answer(result.value, Kind.REPAIRED if repaired else result.kind)

    def _conversation(self, request: DecisionRequest) -> Conversation:
        talk = self._conversations.get(request.actor)
        if talk is None or talk.heard is not request.heard:
            talk = Conversation(self.game, self.style, self.prompt, request.actor, request.heard)
            self._conversations[request.actor] = talk
        talk.catch_up()
        return talk

    def _plain(
        self, talk: Conversation, request: DecisionRequest, *extra: str, number: int = 1
    ) -> Reading[Action]:
        example = legal_example(request, self.game, self.model, number)
        how = talk.how(request.ask.action)
        question = Question(request.ask, how, self.style.codec, example)
        return self._action([*talk.past(), talk.question(request, *extra)], question)

    def _refined(
        self, talk: Conversation, request: DecisionRequest, refine: Refine
    ) -> Reading[Action]:
        collect = self._drafts if refine.apart else self._listed
        result = yield from collect(talk, request, refine)
        if result.value is None:
            return ReadResult(None, result.kind)
        candidates = distinct(result.value)
        if len(candidates) == 1:
            return ReadResult(candidates[0], result.kind)
        question = choosing(request.ask, candidates)
        listed = assistant_message(numbered(candidates, self.style.codec))
        choose = user_message([question.how, *self.prompt.advice])
        messages = [*talk.past(), talk.question(request), listed, choose]
        choice = yield from self._action(messages, question)
        if not isinstance(choice.value, Choice):
            return choice
        repaired = Kind.REPAIRED in (result.kind, choice.kind)
        return ReadResult(
            candidates[choice.value.choice - 1], Kind.REPAIRED if repaired else Kind.OK
        )

    def _listed(
        self, talk: Conversation, request: DecisionRequest, refine: Refine
    ) -> Reading[list[Action]]:
        numbers = range(1, refine.candidates + 1)
        examples = [legal_example(request, self.game, self.model, number) for number in numbers]
        question = listing(request.ask, refine, examples)
        messages = [*talk.past(), talk.question(request, question.how)]
        result = yield from self._action(messages, question)
        candidates = list(result.value.candidates) if isinstance(result.value, Candidates) else None
        return ReadResult(candidates, result.kind)

    def _drafts(
        self, talk: Conversation, request: DecisionRequest, refine: Refine
    ) -> Reading[list[Action]]:
        drafts: list[Action] = []
        repaired = False
        for number in range(1, refine.candidates + 1):
            prompt = DRAFT.format(number=number, count=refine.candidates)
            result = yield from self._plain(talk, request, prompt, number=number)
            if result.value is None:
                return ReadResult(None, result.kind)
            drafts.append(result.value)
            repaired = repaired or result.kind is Kind.REPAIRED
        return ReadResult(drafts, Kind.REPAIRED if repaired else Kind.OK)

    def _action(self, messages: Sequence[ChatMessage], question: Question) -> Reading[Action]:
        def read(text: str, cut_off: bool) -> Action:
            return question.codec.read(text, question.ask, cut_off=cut_off)

        form = question.form(self.answers)
        return self._read(question.ask.actor, messages, read, form)

    def _read(
        self,
        actor: str,
        messages: Sequence[ChatMessage],
        read: Callable[[str, bool], T],
        form: AnswerForm | None,
    ) -> Reading[T]:
        """Repeat a request until the response is valid, at most ``tries`` times.

        Retries contain the complete request for agents that read only the last message.
        """
        *past, request = messages
        kind, open_request = Kind.UNPARSABLE, request
        for attempt in range(self.tries):
            reply = yield ModelCall(
                model=self.model,
                messages=(*past, open_request),
                settings=self.settings,
                form=form,
                game=self.game.name,
                seat=actor,
            )
            if reply.text is None:
                kind = Kind(reply.failure or Failure.PROVIDER_ERROR)
                if kind in DECLINED and self.prompt.refusals == "again":
                    continue
                return ReadResult(None, kind)
            try:
                value = read(reply.text, reply.truncated)
            except Unparsable as problem:
                kind, reason = fault(problem, reply, reasons=bool(self.prompt.advice))
                if self.prompt.reask == "quoted":
                    past += [open_request, assistant_message(echoed(reply.text))]
                if self.prompt.reask != "afresh":
                    open_request = user_message([AGAIN.format(reason=reason), request.content])
            else:
                return ReadResult(value, Kind.REPAIRED if attempt else Kind.OK, reply.text)
        return ReadResult(None, kind)


def _words(text: str, cut_off: bool) -> str:
    if cut_off:
        raise Unparsable("the reply is cut off")
    if not text.strip():
        raise Unparsable("the reply is empty")
    return text.strip()
