"""Playing a few matches of a plan with scripted stand-ins, to see how much models will read and
write.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from cheaptalk.models import ChatMessage, ModelCall, Reply
from cheaptalk.models.scripted import made_up
from cheaptalk.models.usage import schema_characters
from cheaptalk.players import LanguageModel, ModelSeat
from cheaptalk.players.language_model.preview import STAND_IN
from cheaptalk.players.protocol import Call, think
from cheaptalk.records import player_digest
from cheaptalk.rules import Action, Asked, Decide, StrategyError, play, strategies
from cheaptalk.studies.plans.matches import PlannedMatch

T = TypeVar("T")
SUMMARY = "x" * 800
"""As long as a summary is; what it says is of no matter."""
THOUGHTS = re.compile(
    r"\bthink (step|first|before|aloud|carefully|about|it)|step by step|reasoning|scratchpad"
    r"|explain",
    re.IGNORECASE,
)
"""What questions say that ask for thoughts in words."""
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning", "stream")
"""Settings that change nothing of what a model reads."""


class RehearsedRole(NamedTuple):
    """What models of one kind do in one role of a game: all that read alike."""

    game: str
    role: str
    voice: str


@dataclass
class Load:
    """What one seat reads and writes in one match.

    Attributes:
        calls: made for it.
        asked: characters of the messages sent.
        repeated: those of them that an earlier call had sent as well, at its beginning.
        answered: characters of answers, without anything around them.
        schema: characters of the schemas sent besides, which not every server counts.
        thinking: calls that ask for thoughts in words.
        written: messages to others that it may write, which stand-ins keep short or leave out.
        heard: such messages of anybody's in what it reads, each as often as it is sent.
    """

    calls: float = 0
    asked: float = 0
    repeated: float = 0
    answered: float = 0
    schema: float = 0
    thinking: float = 0
    written: float = 0
    heard: float = 0


Loads: TypeAlias = dict[str, Load]
"""By place."""


class Rehearsal(NamedTuple):
    """A match that was played with stand-ins.

    Attributes:
        loads: what each seat of a model reads and writes.
        plies: calls of the longest chain in which each waits for the one before: those of seats
            that are asked at once go out together.
    """

    loads: Loads
    plies: int


def mean_load(loads: Sequence[Load]) -> Load:
    """What seats read and write on average."""
    columns = zip(*map(astuple, loads), strict=True)
    return Load(*(sum(column) / len(loads) for column in columns))


def role_of(match: PlannedMatch, place: str, spec: ModelSeat) -> RehearsedRole:
    """The role that a model plays at this place of a match."""
    game = match.configuration.game
    return RehearsedRole(game.name, game.places[place], player_digest(voice(spec)))


def voice(spec: ModelSeat) -> ModelSeat:
    """A seat's settings without what changes nothing of what its model reads."""
    return spec.model_copy(update={"model": STAND_IN} | dict.fromkeys(SAMPLING))


def models_of(match: PlannedMatch) -> Iterator[tuple[str, str, ModelSeat]]:
    """Place, label and settings of each model in a match."""
    for place, one in zip(match.configuration.game.places, match.seating, strict=True):
        if isinstance(one.spec, ModelSeat):
            yield place, one.label, one.spec


def stand_ins(match: PlannedMatch) -> list[str]:
    """The strategies that can stand in for all of a match's models, but for those that search."""
    game = match.configuration.game
    roles = {game.places[place] for place, *_ in models_of(match)}
    fitting = (one for one in strategies(game.name).values() if roles <= set(one.roles))
    return [one.name for one in fitting if not one.searches]


def rehearse(match: PlannedMatch, strategy: str, luck: int = 0) -> Rehearsal | None:
    """Play a match with a strategy in place of whoever is none, or searches, and see what models
    read.

    Args:
        luck: the match's own at 0, another for each further number.

    Returns:
        None where the strategy cannot play it.
    """
    game = match.configuration.game
    known = strategies(game.name)
    loads: Loads = {}
    talk = Talk()
    seated: dict[str, Decide] = {}
    for place, one in zip(game.places, match.seating, strict=True):
        if one.spec.instant and not one.spec.searches:
            seated[place] = one.spec.decide()
            continue
        name = strategy if game.places[place] in known[strategy].roles else "random"
        decide = known[name].with_settings() if name in known else None
        if decide is None:
            return None
        seated[place] = decide
        if isinstance(one.spec, ModelSeat):
            loads[place] = load = Load()
            seated[place] = _watched(voice(one.spec).player(game), decide, load, talk)
    try:
        play(game, match.deal, f"{match.seed}/{luck}" if luck else match.seed, seated)
    except StrategyError:
        return None
    return Rehearsal(loads, sum(talk.calls.values()))


@dataclass
class Talk:
    """What was said in a match so far.

    Attributes:
        messages: written to others.
        calls: by the number of a question, those of the seat that made the most for it.
    """

    messages: int = 0
    calls: Counter[int] = field(default_factory=Counter)


def _watched(player: LanguageModel, decide: Decide, load: Load, talk: Talk) -> Decide:
    """A strategy's decisions, with all calls weighed that a model in its place would make."""
    before: dict[str, Sequence[ChatMessage]] = {}

    def decision(asked: Asked) -> Action:
        action, made = decide(asked), load.calls
        texts = iter([player.style.codec.write(action)])

        def reply(call: Call) -> Reply:
            assert isinstance(call, ModelCall)
            text = _reply(call, action, texts)
            _weigh(load, call, text, before.get(asked.seat, ()))
            load.heard += talk.messages
            before[asked.seat] = call.messages
            return Reply(text=text)

        think(player.answer(asked), reply)
        request = asked.request
        talk.calls[request] = max(talk.calls[request], round(load.calls - made))
        talk.messages += _speaks(asked.ask.action)
        return action

    return decision


def _reply(call: ModelCall, action: Action, texts: Iterator[str]) -> str:
    """What a model says: the stand-in's answer, or what is legal where more is asked."""
    if call.form is None:
        return SUMMARY
    made = call.form.example or made_up(call.form, "rehearsal")
    return next(texts, made) if call.form.name == type(action).__name__ else made


def _weigh(load: Load, call: ModelCall, text: str, before: Sequence[ChatMessage]) -> None:
    words = sum(len(message.content) for message in call.messages)
    load.calls += 1
    load.asked += words
    load.schema += schema_characters(call)
    load.answered += len(text)
    last = call.messages[-1].content
    load.thinking += call.form is not None and THOUGHTS.search(last) is not None
    load.written += call.form is not None and _has_words(call.form.json_schema)
    for message, earlier in zip(call.messages, before, strict=False):
        if message is not earlier and message.content != earlier.content:
            break
        load.repeated += len(message.content)


@lru_cache(maxsize=256)
def _speaks(action: type[Action]) -> bool:
    """Whether an action may hold words to others."""
    return _has_words(action.model_json_schema())


def _has_words(schema: Any) -> bool:
    """Whether a schema has room for words of one's own, and not for choices or numbers alone."""
    if isinstance(schema, list):
        return any(map(_has_words, schema))
    if not isinstance(schema, dict):
        return False
    words = schema.get("type") == "string" and not schema.keys() & {"enum", "const"}
    return words or any(map(_has_words, schema.values()))


def evenly(items: Sequence[T], most: int) -> list[T]:
    """So many of some things at the most, spread evenly over all."""
    if len(items) <= most:
        return list(items)
    return [items[place * len(items) // most] for place in range(most)]
