"""Rehearsals: simulated matches that measure how much text models would read and write."""

import json
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
from cheaptalk.players.language_model.preview import MOCK_MODEL
from cheaptalk.players.protocol import Call, think
from cheaptalk.records import player_digest
from cheaptalk.rules import (
    Action,
    ChatTurn,
    Decide,
    DecisionRequest,
    StrategyError,
    play,
    strategies,
)
from cheaptalk.studies.plans.matches import PlannedMatch
from cheaptalk.styles.chat import FIELD

T = TypeVar("T")
SUMMARY = "x" * 800
"""A placeholder as long as a typical summary."""
LINE = "x" * 100
"""A placeholder as long as a typical line of chat."""
THOUGHTS = re.compile(
    r"\bthink (step|first|before|aloud|carefully|about|it)|step by step|reasoning|scratchpad"
    r"|explain",
    re.IGNORECASE,
)
"""Phrases in requests that ask for written reasoning."""
SAMPLING = ("temperature", "top_p", "max_tokens", "seed", "stop", "reasoning", "stream")
"""Settings that do not affect what a model reads."""


class RehearsedRole(NamedTuple):
    """A role in a game, with the digest of the settings that affect what a model reads."""

    game: str
    role: str
    voice: str


@dataclass
class Load:
    """Numbers of characters that a model in one seat reads and writes during a match.

    Attributes:
        sent: characters of the messages sent.
        repeated: characters of prompt prefixes that an earlier call also sent.
        answered: characters of the answers themselves.
        schema: characters of the schemas, which not every server bills.
        thinking: number of calls that ask for written reasoning.
        written: number of messages that a model may write; substitutes write short ones or none.
        heard: number of messages that are read, counted each time they are sent.
    """

    calls: float = 0
    sent: float = 0
    repeated: float = 0
    answered: float = 0
    schema: float = 0
    thinking: float = 0
    written: float = 0
    heard: float = 0


Loads: TypeAlias = dict[str, Load]
"""Loads by seat."""


class Rehearsal(NamedTuple):
    """A match simulated with scripted substitutes for its models.

    A batch round is a sequential call; simultaneous calls count once. ``examples`` has the first
    call of each seat, if possible one for a message.
    """

    loads: Loads
    batch_rounds: int
    examples: dict[str, ModelCall]


def mean_load(loads: Sequence[Load]) -> Load:
    """Return the mean of each field of several measurements of input and output text."""
    columns = zip(*map(astuple, loads), strict=True)
    return Load(*(sum(column) / len(loads) for column in columns))


def role_of(match: PlannedMatch, seat: str, spec: ModelSeat) -> RehearsedRole:
    """Return the role that a model plays in a seat of a match."""
    game = match.configuration.game
    return RehearsedRole(game.name, game.seats[seat], player_digest(voice(spec)))


def voice(spec: ModelSeat) -> ModelSeat:
    """Remove settings that do not affect what the model reads."""
    return spec.model_copy(update={"model": MOCK_MODEL} | dict.fromkeys(SAMPLING))


def models_of(match: PlannedMatch) -> Iterator[tuple[str, str, ModelSeat]]:
    """Yield the seat, label and settings of each model in a match."""
    for seat, player in zip(match.configuration.game.seats, match.seating, strict=True):
        if isinstance(player.spec, ModelSeat):
            yield seat, player.label, player.spec


def substitutes(match: PlannedMatch) -> list[str]:
    """Return the strategies without search that can replace all models of a match."""
    game = match.configuration.game
    roles = {game.seats[seat] for seat, *_ in models_of(match)}
    return [
        strategy.name
        for strategy in strategies(game.name).values()
        if roles <= set(strategy.roles) and not strategy.searches
    ]


def rehearse(match: PlannedMatch, strategy: str, draw: int = 0) -> Rehearsal | None:
    """Simulate a match with a strategy in place of models, people and searching strategies.

    Draw 0 uses the seed of the match. The result is None if the strategy cannot play the match.
    """
    game = match.configuration.game
    available = strategies(game.name)
    loads: Loads = {}
    talk = Talk()
    seated: dict[str, Decide] = {}
    for seat, player in zip(game.seats, match.seating, strict=True):
        if player.spec.instant and not player.spec.searches:
            seated[seat] = player.spec.decide()
            continue
        name = strategy if game.seats[seat] in available[strategy].roles else "random"
        decide = available[name].with_settings() if name in available else None
        if decide is None:
            return None
        seated[seat] = decide
        if isinstance(player.spec, ModelSeat):
            loads[seat] = load = Load()
            seated[seat] = _watched(voice(player.spec).player(game), seat, decide, load, talk)
    try:
        play(game, match.instance, f"{match.seed}/{draw}" if draw else match.seed, seated)
    except StrategyError:
        return None
    return Rehearsal(loads, sum(talk.calls.values()), talk.examples)


@dataclass
class Talk:
    """Counts of a match's messages so far, and of its sequential calls for each request.

    ``examples`` has a call of each seat.
    """

    messages: int = 0
    calls: Counter[int] = field(default_factory=Counter)
    examples: dict[str, ModelCall] = field(default_factory=dict)


def _watched(player: LanguageModel, seat: str, decide: Decide, load: Load, talk: Talk) -> Decide:
    """Wrap a strategy to measure the calls that a model would make for the same decisions."""
    previous: dict[str, Sequence[ChatMessage]] = {}

    def decision(request: DecisionRequest) -> Action:
        action, calls_before = decide(request), load.calls
        texts = iter([player.style.codec.write(action)])

        def reply(call: Call) -> Reply:
            assert isinstance(call, ModelCall)
            text = _reply(call, action, texts)
            _weigh(load, call, text, previous.get(request.actor, ()))
            load.heard += talk.messages
            first_message = load.written == 1 and _asks_for_text(call)
            if load.calls == 1 or first_message:
                talk.examples[seat] = call
            previous[request.actor] = call.messages
            return Reply(text=text)

        think(player.answer(request), reply)
        number = request.number
        talk.calls[number] = max(talk.calls[number], round(load.calls - calls_before))
        talk.messages += _speaks(request.ask.action)
        return action

    def say(turn: ChatTurn) -> str | None:
        chat = player.game.chat
        if chat is None or chat.when == "during":  # the line is part of the answer
            return None

        def reply(call: Call) -> Reply:
            assert isinstance(call, ModelCall)
            text = json.dumps({FIELD: LINE[: chat.characters]})
            _weigh(load, call, text, previous.get(turn.actor, ()))
            previous[turn.actor] = call.messages
            return Reply(text=text)

        return think(player.talk(turn), reply)

    decision.talk = say  # type: ignore[attr-defined]  # functions may have attributes
    return decision


def _reply(call: ModelCall, action: Action, texts: Iterator[str]) -> str:
    """Return the substitute's answer, or a legal example if the call asks for another type."""
    if call.form is None:
        return SUMMARY
    example = call.form.example or made_up(call.form, "rehearsal")
    return next(texts, example) if call.form.name == type(action).__name__ else example


def _weigh(load: Load, call: ModelCall, text: str, previous: Sequence[ChatMessage]) -> None:
    characters = sum(len(message.content) for message in call.messages)
    load.calls += 1
    load.sent += characters
    load.schema += schema_characters(call)
    load.answered += len(text)
    question = call.messages[-1].content
    load.thinking += call.form is not None and THOUGHTS.search(question) is not None
    load.written += _asks_for_text(call)
    for message, earlier in zip(call.messages, previous, strict=False):
        if message is not earlier and message.content != earlier.content:
            break
        load.repeated += len(message.content)


def _asks_for_text(call: ModelCall) -> bool:
    return call.form is not None and _has_free_text(call.form.json_schema)


@lru_cache(maxsize=256)
def _speaks(action: type[Action]) -> bool:
    """Return whether an action can contain a message."""
    return _has_free_text(action.model_json_schema())


def _has_free_text(schema: Any) -> bool:
    """Return whether a schema contains free text rather than only choices or numbers."""
    if isinstance(schema, list):
        return any(map(_has_free_text, schema))
    if not isinstance(schema, dict):
        return False
    is_free_text = schema.get("type") == "string" and not schema.keys() & {"enum", "const"}
    return is_free_text or any(map(_has_free_text, schema.values()))


def evenly(items: Sequence[T], maximum: int) -> list[T]:
    """Return at most ``maximum`` items, evenly spaced."""
    if len(items) <= maximum:
        return list(items)
    return [items[index * len(items) // maximum] for index in range(maximum)]
