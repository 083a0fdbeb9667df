"""Chats for training language models: each actor's observations, requests and final answers.

A chat contains the messages that a language model in this seat is sent, without invalid attempts
and without other actors' private information.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.atomic_files import read_whole
from cheaptalk.models import ChatMessage
from cheaptalk.players.language_model.player import Conversation
from cheaptalk.players.language_model.replies import refinable
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.rules import CheaptalkError, Moment

LONGEST = 2**32
"""Maximum size of a file of chats, in bytes."""


class Chat(NamedTuple):
    """One actor's observations and answers in a match.

    Attributes:
        match_id, game: the match, and its game.
        actor, seat, player: the actor, its seat, and the label of its player.
        status: the status of the match.
        payoff: the seat's payoff in the game's unit; None if the match did not finish.
        messages: the briefing, then requests and answers in turn. The last message is an answer; if
            the actor never answered, there is only the briefing.
    """

    match_id: str
    game: str
    actor: str
    seat: str
    player: str
    status: Status
    payoff: float | None
    messages: tuple[ChatMessage, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the chat as a JSON object, with messages in the format of chat templates."""
        messages = [message.model_dump() for message in self.messages]
        return self._asdict() | {"status": self.status.value, "messages": messages}


def chats(record: MatchRecord, style: str | None = None) -> Iterator[Chat]:
    """Yield the chats of all actors of a match, in the game's order.

    A model's chat uses its own prompt style and persona, and its original responses if the model
    saw them later. The history is complete, even if the model was shown only part of it.

    Args:
        style: the prompt style for players that are not models; by default the game's own.

    Raises:
        UnknownName: the game has no such style.
        VersionMismatch: the match was played under another version of the rules.
        ReplayMismatch: the match cannot be replayed.
    """
    table = record.replay()
    for actor, seat in record.at.items():
        moments = table.heard[actor]
        spec = _spec(record.seats[seat]["spec"], style)
        player = spec.player(record.rules)
        texts = _texts(record, actor, moments, spec) if spec.past_answers == "verbatim" else {}
        prompt = player.prompt._replace(history="all")
        conversation = Conversation(record.rules, player.style, prompt, actor, moments, texts)
        conversation.chat = table.chat.heard[actor] if table.chat else ()
        conversation.catch_up()
        label, payoff = record.label(seat), (record.payoffs or {}).get(seat)
        messages = tuple(conversation.past())
        yield Chat(record.id, record.game, actor, seat, label, record.status, payoff, messages)


def _spec(settings: Mapping[str, Any], style: str | None) -> ModelSeat:
    if settings.get("model"):
        return ModelSeat.model_validate(settings)
    return ModelSeat(model="script/legal").model_copy(update={"style": style})


def _texts(
    record: MatchRecord, actor: str, moments: Sequence[Moment], spec: ModelSeat
) -> dict[int, str]:
    """Return an actor's original responses by history index, except those of refined answers."""
    actions = [
        (index, moment.action) for index, moment in enumerate(moments) if moment.action is not None
    ]
    answers = [
        answer for answer in record.answers if answer.actor == actor and answer.action is not None
    ]
    return {
        index: answer.calls[-1]["reply"]["text"]
        for (index, action), answer in zip(actions, answers, strict=True)
        if answer.calls and not (spec.refine and refinable(type(action)))
    }


def read_chats(file: Path | str) -> list[list[dict[str, str]]]:
    """Return the messages of each chat in a JSON Lines file, ignoring all other keys.

    Raises:
        CheaptalkError: the file can't be read, or a line has no messages.
    """
    file = Path(file)
    try:
        lines = read_whole(file, LONGEST).split("\n")  # texts may hold other ends of lines
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise CheaptalkError(f"{file} cannot be read: {reason}") from None
    return [_messages(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _messages(file: Path, number: int, line: str) -> list[dict[str, str]]:
    try:
        return [
            ChatMessage.model_validate(message).model_dump()
            for message in json.loads(line)["messages"]
        ]
    except (ValueError, KeyError, TypeError):
        raise CheaptalkError(
            f"line {number} of {file} is not a chat; export chats with: cheaptalk store export "
            "STUDY --format chats"
        ) from None
