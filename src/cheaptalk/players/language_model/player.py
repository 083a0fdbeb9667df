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
from cheaptalk.players.protocol import Answer, Kind, Talking, Thinking
from cheaptalk.rules import (
    Action,
    ChatLine,
    ChatTurn,
    DecisionRequest,
    Event,
    Game,
    HeardLine,
    Moment,
    observed,
)
from cheaptalk.rules.chat import ChatLog
from cheaptalk.styles import CODECS, JsonCodec, Style, Unparsable, escaped
from cheaptalk.styles.chat import chat_schema, with_chat, without_chat


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
        self.chat: Sequence[HeardLine] = ()
        self._renderer = style.to(game, actor)
        first = heard[0].event
        briefing = self._renderer.tell(first)
        self._last: tuple[Event, str] = (first, briefing)
        rules = self._renderer.chat_rules() if game.chat else ""
        opening = f"{briefing}\n\n{rules}" if rules else briefing
        self.system = ChatMessage(role="system", content=prompt.opening(opening))
        self._read, self._read_lines = 1, 0
        self._news: list[str] = []
        self._turns: list[tuple[ChatMessage, ChatMessage]] = []
        self._notes: tuple[ChatMessage, ...] = ()
        self._texts = dict(texts)
        self._hows: dict[type[Action], str] = {}

    def catch_up(self) -> None:
        """Render the observations and lines of chat since the last request."""
        for item in observed(self.heard, self.chat, self._read, self._read_lines):
            if isinstance(item, ChatLine):
                self._read_lines += 1
                own = item.actor == self.actor
                self._news.append(self._renderer.chat_line(item, own=own))
                continue
            event, action = item
            self._news.append(self._text(event))
            if action is not None:
                question = user_message([*self._news, self.how(type(action))])
                answer = self._texts.get(self._read) or self.style.codec.write(action)
                self._turns.append((question, assistant_message(answer)))
                self._news = []
            self._read += 1

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

    def chat_question(self, left: int) -> ChatMessage:
        """Return the message with new events and all lines, and the request for a line of chat."""
        later = [heard.line for heard in self.chat[self._read_lines :]]  # after an open request
        lines = [self._renderer.chat_line(line, own=line.actor == self.actor) for line in later]
        return user_message([*self._news, *lines, self._renderer.chat_turn(left)])

    def chat_field(self) -> str:
        """Return how to send a line of chat with an answer."""
        return self._renderer.chat_field()

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
        chat = without_chat(result.text, self.style.codec).line if self._may_chat(request) else None
        return Answer(result.value, Kind.REPAIRED if repaired else result.kind, chat)

    def talk(self, turn: ChatTurn) -> Talking:
        """Ask the model for a line of chat once; any other response than a line is silence."""
        assert self.game.chat is not None
        talk = self._conversation_of(turn.actor, turn.heard, turn.chat)
        schema, codec = chat_schema(self.game.chat.characters), CODECS["json"]
        reply = yield ModelCall(
            model=self.model,
            messages=(*talk.past(), talk.chat_question(turn.left)),
            settings=self.settings,
            form=AnswerForm(name="Chat", json_schema=schema, route=self.answers),
            game=self.game.name,
            seat=turn.actor,
        )
        return None if reply.text is None else without_chat(reply.text, codec).line

    def _may_chat(self, request: DecisionRequest) -> bool:
        """Return whether the model may send a line of chat with its answer."""
        chat = self.game.chat
        return (
            chat is not None
            and chat.when == "during"
            and not (self.prompt.refine and refinable(request.ask.action))
            and ChatLog(self.game, chat).members.get(request.actor) is not None
            and sum(
                heard.line.actor == request.actor and heard.position <= len(request.heard)
                for heard in request.chat
            )
            < chat.lines
        )

    def _conversation(self, request: DecisionRequest) -> Conversation:
        return self._conversation_of(request.actor, request.heard, request.chat)

    def _conversation_of(
        self, actor: str, heard: Sequence[Moment], chat: Sequence[HeardLine]
    ) -> Conversation:
        talk = self._conversations.get(actor)
        if talk is None or talk.heard is not heard:
            talk = Conversation(self.game, self.style, self.prompt, actor, heard)
            self._conversations[actor] = talk
        talk.chat = chat
        talk.catch_up()
        return talk

    def _plain(
        self, talk: Conversation, request: DecisionRequest, *extra: str, number: int = 1
    ) -> Reading[Action]:
        example = legal_example(request, self.game, self.model, number)
        how = talk.how(request.ask.action)
        question = Question(request.ask, how, self.style.codec, example)
        if not self._may_chat(request):
            return self._action([*talk.past(), talk.question(request, *extra)], question)
        messages = [*talk.past(), talk.question(request, *extra, talk.chat_field())]
        return self._action(messages, question, chat=True)

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

    def _action(
        self, messages: Sequence[ChatMessage], question: Question, *, chat: bool = False
    ) -> Reading[Action]:
        def read(text: str, cut_off: bool) -> Action:
            answer = without_chat(text, question.codec).answer if chat else text
            return question.codec.read(answer, question.ask, cut_off=cut_off)

        form = question.form(self.answers)
        if chat and self.game.chat is not None and isinstance(question.codec, JsonCodec):
            schema = with_chat(form.json_schema, self.game.chat.characters)
            form = form.model_copy(update={"json_schema": schema})
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
