"""Records of a match's chat."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cheaptalk.rules import ChatLine, Table

CHAT_CALLS = 1_000_000
"""Index of the first call for a line of chat among the calls of an actor at a request."""
CHAT_LINES = 2_000_000
"""Index of the first line of chat, which the ledger stores like a call."""


class ChatRecord(NamedTuple):
    """A recorded line of chat, or a model's decision to send none.

    Attributes:
        request, actor, after: see :class:`.ChatLine`.
        text: the line; None if the model sent none.
        at: the time in seconds since 1970, if known.
        turn: for a line of a model's turn to chat, the request of the turn, and how many entries of
            the chat came before the turn; None for other lines.
        calls: the calls of the turn.
    """

    request: int
    actor: str
    text: str | None
    after: tuple[str, ...] = ()
    at: float | None = None
    turn: tuple[int, int] | None = None
    calls: Sequence[dict[str, Any]] = ()

    @property
    def line(self) -> ChatLine | None:
        return ChatLine(self.request, self.actor, self.text, self.after) if self.text else None

    def as_json(self) -> dict[str, Any]:
        data = {"request": self.request, "actor": self.actor, "text": self.text}
        optional: dict[str, Any] = {"after": list(self.after), "at": self.at}
        optional |= {"turn": list(self.turn or ()), "calls": list(self.calls)}
        return data | {name: value for name, value in optional.items() if value not in (None, [])}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ChatRecord":
        turn = tuple(data["turn"]) if "turn" in data else None
        return cls(**{**data, "after": tuple(data.get("after", ())), "turn": turn})

    def place(self, index: int) -> tuple[int, str, int]:
        """Return the request, the actor and the index of one of the calls, as in the ledger."""
        request, number = self.turn or (self.request, 0)
        return request, self.actor, CHAT_CALLS + number + index


def lines_of(chat: Iterable[ChatRecord]) -> list[ChatLine]:
    """Return the lines of recorded chat, in order."""
    return [line for entry in chat if (line := entry.line) is not None]


def scripted_chat(table: Table) -> list[ChatRecord]:
    """Create records of the lines of a match without models and people."""
    lines = table.chat_lines
    return [ChatRecord(line.request, line.actor, line.text, line.after) for line in lines]
