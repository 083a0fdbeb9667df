"""A language model at the table: the game told as a conversation."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
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
from cheaptalk.players.language_model.candidates import (
    DRAFT,
    Candidates,
    Choice,
    choosing,
    distinct,
    listing,
    numbered,
    refinable,
)
from cheaptalk.players.language_model.conversation import (
    Conversation,
    assistant_message,
    user_message,
)
from cheaptalk.players.language_model.replies import Question, echoed, fault, legal_example
from cheaptalk.players.language_model.treatments import PLAIN, Prompt, Refine
from cheaptalk.players.protocol import Answer, Kind, Thinking
from cheaptalk.rules import Action, Asked, Game
from cheaptalk.styles import Style, Unreadable

FAILED = {
    Failure.REFUSED: Kind.REFUSED,
    Failure.FILTERED: Kind.FILTERED,
    Failure.TIMED_OUT: Kind.TIMED_OUT,
    Failure.PROVIDER_ERROR: Kind.PROVIDER_ERROR,
}
DECLINED = (Kind.REFUSED, Kind.FILTERED)
"""Kinds of answers that the same question may bring a better one after."""
SUM_UP = (
    "Before the game goes on, sum up for yourself what has happened so far, in at most 200 words: "
    "from now on you will remember the rules and your summary, and nothing else. Keep what you may "
    "need to decide well: what was offered, said and done, by whom and when, and what you plan. Do "
    "not answer anything yet."
)
"""What asks for a summary."""

T = TypeVar("T")


class Found(NamedTuple, Generic[T]):
    """What came of a question: what was read, or nothing; its kind; the reply as written."""

    value: T | None
    kind: Kind
    text: str = ""


Finding: TypeAlias = Generator[ModelCall, Reply, Found[T]]


@dataclass(eq=False)
class LanguageModel:
    """A chat model as a player; one object plays one match.

    The briefing is the system message. What happened since the last answer becomes one user
    message, ending in the question and how to answer it; the model's own past answers stand
    between them in canonical form. A reply that cannot be read or is illegal is answered with the
    reason and the whole request again, up to ``tries`` times in all; after a refusal the same is
    asked once more. A persona stands before the briefing, advice on how to think after the open
    question; neither is repeated for past ones.

    Summaries, candidates and choices are asked for in calls of their own, by the same rules: what
    finally fails there is no answer.
    """

    game: Game
    style: Style
    model: str
    settings: ModelSettings
    prompt: Prompt = PLAIN
    tries: int = 3
    answers: AskedRoute = "auto"
    _conversations: dict[str, Conversation] = field(default_factory=dict, init=False)

    def answer(self, asked: Asked) -> Thinking:
        """Ask the model, and ask again with the reason where the reply is no legal answer."""
        talk = self._conversation(asked)
        refine = self.prompt.refine if refinable(asked.ask.action) else None
        mended = False
        if talk.unsummarised:
            messages = [*talk.past(), user_message([SUM_UP])]
            summary = yield from self._read(talk.seat, messages, _words, None)
            if summary.value is None:
                return Answer(None, summary.kind)
            talk.sum_up(SUM_UP, summary.value)
            mended = summary.kind is Kind.REPAIRED
        if refine is not None:
            found = yield from self._refined(talk, asked, refine)
        else:
            found = yield from self._plain(talk, asked)
        if found.value is None:
            return Answer(None, found.kind)
        talk.keep(found.text)
        return Answer(found.value, Kind.REPAIRED if mended else found.kind)

    def _conversation(self, asked: Asked) -> Conversation:
        """What this seat heard and said before this question."""
        talk = self._conversations.get(asked.seat)
        if talk is None or talk.heard is not asked.heard:
            talk = Conversation(self.game, self.style, self.prompt, asked.seat, asked.heard)
            self._conversations[asked.seat] = talk
        talk.catch_up()
        return talk

    def _plain(
        self, talk: Conversation, asked: Asked, *more: str, number: int = 1
    ) -> Finding[Action]:
        example = legal_example(asked, self.game, self.model, number)
        how = talk.how(asked.ask.action)
        question = Question(asked.ask, how, self.style.codec, example)
        return self._action([*talk.past(), talk.question(asked, *more)], question)

    def _refined(self, talk: Conversation, asked: Asked, refine: Refine) -> Finding[Action]:
        """Candidates, then the choice of one of them; never another answer."""
        collect = self._drafts if refine.apart else self._listed
        found = yield from collect(talk, asked, refine)
        if found.value is None:
            return Found(None, found.kind)
        candidates = distinct(found.value)
        if len(candidates) == 1:
            return Found(candidates[0], found.kind)
        question = choosing(asked.ask, candidates)
        listed = assistant_message(numbered(candidates, self.style.codec))
        choose = user_message([question.how, *self.prompt.advice])
        messages = [*talk.past(), talk.question(asked), listed, choose]
        choice = yield from self._action(messages, question)
        if not isinstance(choice.value, Choice):
            return choice
        mended = Kind.REPAIRED in (found.kind, choice.kind)
        return Found(candidates[choice.value.choice - 1], Kind.REPAIRED if mended else Kind.OK)

    def _listed(self, talk: Conversation, asked: Asked, refine: Refine) -> Finding[list[Action]]:
        """All candidates in one reply."""
        numbers = range(1, refine.candidates + 1)
        examples = [legal_example(asked, self.game, self.model, number) for number in numbers]
        question = listing(asked.ask, refine, examples)
        messages = [*talk.past(), talk.question(asked, question.how)]
        found = yield from self._action(messages, question)
        several = list(found.value.candidates) if isinstance(found.value, Candidates) else None
        return Found(several, found.kind)

    def _drafts(self, talk: Conversation, asked: Asked, refine: Refine) -> Finding[list[Action]]:
        """A reply for each candidate, none knowing of the others."""
        drafts: list[Action] = []
        mended = False
        for number in range(1, refine.candidates + 1):
            which = DRAFT.format(number=number, count=refine.candidates)
            found = yield from self._plain(talk, asked, which, number=number)
            if found.value is None:
                return Found(None, found.kind)
            drafts.append(found.value)
            mended = mended or found.kind is Kind.REPAIRED
        return Found(drafts, Kind.REPAIRED if mended else Kind.OK)

    def _action(self, messages: Sequence[ChatMessage], question: Question) -> Finding[Action]:
        """Ask for an action until it is legal."""

        def read(text: str, cut_off: bool) -> Action:
            return question.codec.read(text, question.ask, cut_off=cut_off)

        form = question.form(self.answers)
        return self._read(question.ask.seat, messages, read, form)

    def _read(
        self,
        seat: str,
        messages: Sequence[ChatMessage],
        read: Callable[[str, bool], T],
        form: AnswerForm | None,
    ) -> Finding[T]:
        """Ask until the reply can be read, as often as this player is asked.

        A retry ends with the reason and the whole request, so that an agent that reads the last
        message only can answer it.
        """
        request = messages[-1].content
        kind = Kind.UNPARSABLE
        more: list[ChatMessage] = []
        for attempt in range(self.tries):
            reply = yield ModelCall(
                model=self.model,
                messages=(*messages, *more),
                settings=self.settings,
                form=form,
                game=self.game.name,
                seat=seat,
            )
            if reply.text is None:
                kind = FAILED[reply.failure or Failure.PROVIDER_ERROR]
                if kind in DECLINED and self.prompt.refusals == "again":
                    continue
                return Found(None, kind)
            try:
                value = read(reply.text, reply.truncated)
            except Unreadable as problem:
                kind, why = fault(problem, reply)
                if self.prompt.reask == "reason":
                    more += [assistant_message(echoed(reply.text)), _again(why, request)]
            else:
                return Found(value, Kind.REPAIRED if attempt else Kind.OK, reply.text)
        return Found(None, kind)


def _words(text: str, cut_off: bool) -> str:
    """A text that is there and is whole."""
    if cut_off:
        raise Unreadable("the reply is cut off")
    if not text.strip():
        raise Unreadable("the reply is empty")
    return text.strip()


def _again(why: str, request: str) -> ChatMessage:
    return user_message([f"That answer does not count: {why}.", "Please answer again.", request])
