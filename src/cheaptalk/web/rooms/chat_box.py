"""The chat at a table: what a person sees of it, and their actions in it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cheaptalk.rules import IllegalAction, Table
from cheaptalk.text import visible
from cheaptalk.web.rooms.rooms import Room, Visitor
from cheaptalk.web.rooms.seat_sessions import SeatSession

DEEDS = ("say", "ready")
"""Names of a person's actions in the chat."""


class ChatEntry(NamedTuple):
    """A line of chat, with its sender's name; ``own`` if the reader sent it."""

    name: str
    text: str
    own: bool


class ChatBox(NamedTuple):
    """The chat from the perspective of one person.

    Attributes:
        partners: the names of the others who read this person's lines.
        is_open: whether the person can send lines now.
        before: whether the others wait with their decisions until the chat ends.
        until: when such a chat ends at the latest, in seconds since 1970.
        ready: whether the person has said that they want to go on.
        left: the number of lines that the person may still send.
        characters: the maximum characters of a line.
        refused: the last line of the person if it was not sent, else "".
    """

    partners: Sequence[str]
    entries: Sequence[ChatEntry]
    is_open: bool
    before: bool
    until: float | None
    ready: bool
    left: int
    characters: int
    refused: str


def chat_box(
    room: Room, table: Table, actor: str, session: SeatSession, names: Mapping[str, str]
) -> ChatBox | None:
    """Return a person's view of the chat; None if the game has none for this person."""
    log = table.chat
    if log is None or actor not in log.members:
        return None
    phase = None if room.chat is None else room.chat.phase
    before = phase is not None and not session.has_left and not session.away
    during = log.settings.when == "during" and room.chat is not None
    is_open = (before or during) and not room.over and not session.has_left and not session.away
    return ChatBox(
        [names[other] for other in log.members[actor] if other != actor],
        [
            ChatEntry(names[line.actor], visible(line.text), line.actor == actor)
            for _, line in log.heard[actor]
        ],
        is_open,
        before,
        None if phase is None else phase.until,
        phase is not None and actor in phase.ready,
        log.left(actor, table.requests),
        log.settings.characters,
        session.refused_line,
    )


async def do_in_chat(room: Room, visitor: Visitor, deed: str, posted: Mapping[str, str]) -> None:
    """Send a person's line, or note that they want to go on.

    A line that comes too late or exceeds the limits is kept, so that the page shows it again.
    """
    chat = room.chat
    if chat is None:
        return
    session = room.seat_session(visitor)
    actor = next(member.name for member in chat.table.game.actors if member.seat == session.seat)
    if deed == "ready":
        chat.be_ready(actor)
        return
    session.refused_line = ""
    text = " ".join(posted.get("line", "").split())
    if text:
        try:
            await chat.say(actor, text)
        except IllegalAction:
            session.refused_line = text
