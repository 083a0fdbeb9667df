"""Chats to learn from: what each seat of a match was told, and what it answered.

A seat's chat is what a language model in its place is sent, with the answers that counted: none of
those that did not, and nothing that only other seats knew.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cheaptalk.models import ChatMessage
from cheaptalk.players.language_model.candidates import refinable
from cheaptalk.players.language_model.conversation import Conversation
from cheaptalk.players.language_model.seat import ModelSeat
from cheaptalk.records.record import MatchRecord, Status
from cheaptalk.rules import CheaptalkError, Moment
from cheaptalk.whole_files import read_whole

LONGEST = 2**32
"""Bytes of the longest file of chats."""


class Chat(NamedTuple):
    """What one seat heard and said in a match.

    Attributes:
        match_id, game: the match, and what was played.
        seat, place, player: whose chat it is, where it sat, and what the study calls its player.
        status: how the match ended.
        payoff: what its place got, in the game's unit; None where the match did not finish.
        messages: the briefing, then questions and answers in turn. The last is an answer; there is
            the briefing alone where the seat gave none.
    """

    match_id: str
    game: str
    seat: str
    place: str
    player: str
    status: Status
    payoff: float | None
    messages: tuple[ChatMessage, ...]

    def as_json(self) -> dict[str, Any]:
        """One JSON object, with messages as chat templates and trainers take them."""
        told = [one.model_dump() for one in self.messages]
        return self._asdict() | {"status": self.status.value, "messages": told}


def chats(record: MatchRecord, style: str | None = None) -> Iterator[Chat]:
    """The chats of all seats of a match, in the game's order.

    A model's is in the style that it played in, with its persona, and with its answers as it wrote
    them where its past answers were shown to it so; all of it, whatever it was to remember.

    Args:
        style: the style of all others; the game's own one if not set.

    Raises:
        UnknownName: the game has no such style.
        OtherVersion: the match was played under other rules than those installed.
        ReplayMismatch: there is nothing to replay, or it does not fit the rules.
    """
    table = record.replay()
    for seat, place in record.at.items():
        heard = table.heard[seat]
        spec = _spec(record.seats[place]["spec"], style)
        player = spec.player(record.rules)
        texts = _texts(record, seat, heard, spec) if spec.past_answers == "verbatim" else {}
        prompt = player.prompt._replace(history="all")
        talk = Conversation(record.rules, player.style, prompt, seat, heard, texts)
        talk.catch_up()
        yield Chat(
            record.id, record.game, seat, place, record.label(place), record.status,
            (record.payoffs or {}).get(place), tuple(talk.past()),
        )  # fmt: skip


def _spec(written: Mapping[str, Any], style: str | None) -> ModelSeat:
    if written.get("model"):
        return ModelSeat.model_validate(written)
    return ModelSeat(model="script/legal", style=style)


def _texts(
    record: MatchRecord, seat: str, heard: Sequence[Moment], spec: ModelSeat
) -> dict[int, str]:
    """What the seat wrote where it answered, by place among what it heard; not what it chose."""
    made = [(place, one.action) for place, one in enumerate(heard) if one.action is not None]
    given = [one for one in record.answers if one.seat == seat and one.action is not None]
    return {
        place: answer.calls[-1]["reply"]["text"]
        for (place, action), answer in zip(made, given, strict=True)
        if answer.calls and not (spec.refine and refinable(type(action)))
    }


def read_chats(file: Path) -> list[list[dict[str, str]]]:
    """The messages of each line of a file such as an export writes; what else stands there is left.

    Raises:
        CheaptalkError: it cannot be read, or a line has no messages; it is named.
    """
    try:
        lines = read_whole(file, LONGEST).split("\n")  # texts may hold other ends of lines
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise CheaptalkError(f"{file} cannot be read: {why}") from None
    return [_messages(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _messages(file: Path, number: int, line: str) -> list[dict[str, str]]:
    try:
        return [
            ChatMessage.model_validate(one).model_dump() for one in json.loads(line)["messages"]
        ]
    except (ValueError, KeyError, TypeError):
        raise CheaptalkError(
            f"line {number} of {file} is no chat; write one with: cheaptalk export STUDY --format "
            "chats"
        ) from None
