"""The chat of a live match between people, models and scripts.

Every line is in the ledger before others read it, so that a match that resumes has the same lines
in the same order, and sends the same requests to models.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cheaptalk.calls.budget import Halted, MatchSpent
from cheaptalk.calls.dispatcher import Caller
from cheaptalk.models import Reply
from cheaptalk.players import Player, SeatSpec
from cheaptalk.records.chat import CHAT_CALLS, CHAT_LINES, ChatRecord
from cheaptalk.records.ledger.ledger import CallKey
from cheaptalk.rules import ChatTurn, IllegalAction, Table, talker
from cheaptalk.rules.chat import ChatLog

LOG = logging.getLogger(__name__)
LAST_SECONDS = 5.0
"""Seconds to wait at the end of a match for lines that nobody reads any more."""
ENDED = "ended"
"""Key of the entry in the ledger that ends a chat before a decision."""


@dataclass
class ChatPhase:
    """A chat before a decision, which is open.

    Attributes:
        until: when it ends at the latest, in seconds since 1970.
        ready: the actors of people who want to go on.
    """

    until: float
    ready: set[str] = field(default_factory=set)


class LiveChat:
    """The chat of a live match.

    Args:
        watch: called after each change.

    Attributes:
        people: returns the actors of the people who are at the table and can chat.
        phase: the open chat before a decision, or None.
        entries: the lines so far, and the decisions of models to send none, in order; when a match
            resumes, also those that are still to be repeated.
    """

    def __init__(
        self,
        table: Table,
        log: ChatLog,
        caller: Caller,
        players: Mapping[str, Player],
        specs: Mapping[str, SeatSpec],
        watch: Callable[[Table], None] = lambda _table: None,
    ) -> None:
        self.table, self.log, self.caller = table, log, caller
        self.players, self.specs, self.watch = players, specs, watch
        self.people: Callable[[], set[str]] = set
        self.phase: ChatPhase | None = None
        self.entries: list[ChatRecord] = []
        self._ended: set[int] = set()
        self._numbers = 0
        self._restore()
        self._repeated = 0
        self._thinking: set[str] = set()
        self._with_answer: dict[str, str | None] = {}
        self._changed = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()

    # Lines

    async def say(self, actor: str, text: str) -> None:
        """Send a person's line.

        Raises:
            IllegalAction: the chat is closed, or the line exceeds its limits.
            StoreError: the line cannot be saved.
        """
        if not self.is_live or (self.log.settings.when != "during" and self.phase is None):
            raise IllegalAction("the chat has ended")
        await self._send(actor, text.strip())
        self._answer_in_background()

    def be_ready(self, actor: str) -> None:
        """Note that a person wants to go on; the chat ends when all people are ready."""
        if self.phase is not None:
            self.phase.ready.add(actor)
            self.wake()

    def wake(self) -> None:
        """Check again who is at the table, and show the change."""
        self._changed.set()
        self.watch(self.table)

    async def _send(
        self,
        actor: str,
        text: str | None,
        turn: tuple[int, int] | None = None,
        calls: Sequence[dict[str, Any]] = (),
        after: Iterable[str] = (),
    ) -> None:
        """Add an entry to the chat and to the ledger."""
        request, now = self.table.requests, round(time.time(), 3)
        asked: tuple[str, ...] = ()
        if text is not None:
            asked = self.table.say(actor, text, {*after, *self._thinking} - self.people()).after
        self.entries.append(ChatRecord(request, actor, text, asked, now, turn, calls))
        self._repeated = len(self.entries)
        await self._note(actor, {"after": list(asked), "at": now, "turn": turn}, text)
        self.wake()

    async def _note(self, actor: str, chat: Mapping[str, Any], text: str | None) -> None:
        place = self.table.requests, actor, CHAT_LINES + self._numbers
        self._numbers += 1
        key, call = CallKey(self.caller.match_id, *place), {"seat": actor, "chat": dict(chat)}
        await self.caller.dispatcher.ledger.note(key, call, Reply(text=text))

    # Resumption

    def _restore(self) -> None:
        """Take the entries of an earlier run, and the calls for them, from the ledger."""
        past = self.caller.past
        keys = sorted((key for key in past if key.attempt >= CHAT_LINES), key=lambda k: k.attempt)
        self._numbers = len(keys)
        for key in keys:
            note, text = past[key].call["chat"], past[key].reply.get("text")
            del past[key]
            if note.get(ENDED):
                self._ended.add(key.request)
                continue
            turn, calls = note.get("turn") and tuple(note["turn"]), list[dict[str, Any]]()
            if turn:
                call_key = CallKey(key.match_id, turn[0], key.actor, CHAT_CALLS + turn[1])
                if call := past.pop(call_key, None):
                    calls = [{"call": call.call, "reply": call.reply, "sending": call.sending}]
            after, at = tuple(note["after"]), note["at"]
            self.entries.append(ChatRecord(key.request, key.actor, text, after, at, turn, calls))

    @property
    def is_live(self) -> bool:
        """Whether all that happened in an earlier run has been repeated."""
        is_past = any(key.attempt < CHAT_CALLS for key in self.caller.past)
        return self._repeated == len(self.entries) and not is_past

    def _repeat(self) -> None:
        while self._repeated < len(self.entries):
            entry = self.entries[self._repeated]
            if entry.request > self.table.requests:
                return
            if entry.text is not None:
                self.table.say(entry.actor, entry.text, entry.after)
            self._repeated += 1

    # Turns of models and scripts

    def _programs(self) -> list[str]:
        """Return the actors that chat without a person."""
        people = self.people()
        return [
            actor
            for actor in self.log.members
            if actor not in people and talker(self.players[actor]) is not None
        ]

    def _turns(self) -> dict[str, list[int]]:
        """Return, for each turn of an actor in this phase, how many lines it could read."""
        turns: dict[str, list[int]] = {}
        lines = 0
        between, request = self.log.settings.when == "between", self.table.requests
        seen = [0]
        for entry in self.entries[: self._repeated]:
            lines += entry.text is not None
            seen.append(lines)
            if entry.turn is not None and not (between and entry.turn[0] != request):
                turns.setdefault(entry.actor, []).append(seen[entry.turn[1]])
        return turns

    async def _take_turns(self, phase: ChatPhase | None = None) -> None:
        """Let models and scripts chat until each has reacted to the last line of the others."""
        while self.phase is phase:
            programs, turns = self._programs(), self._turns()
            actor = self.log.next_actor(programs, self.table.requests, turns)
            if actor is None:
                return
            await self._take_turn(actor)

    async def _take_turn(self, actor: str) -> None:
        request, phase = self.table.requests, self.phase
        started = [
            key.attempt - CHAT_CALLS
            for key in self.caller.past
            if key[1:3] == (request, actor) and key.attempt >= CHAT_CALLS
        ]
        number = min(started, default=len(self.entries))
        turn = self.table.chat_turn(actor, number)
        lines = sum(entry.text is not None for entry in self.entries[:number])
        known = set(map(id, self.log.lines[:lines]))
        turn = turn._replace(chat=[heard for heard in turn.chat if id(heard.line) in known])
        player: Any = self.players[actor]
        thought = await self.caller.think(
            player.talk(turn), request, actor, self.specs[actor], CHAT_CALLS + number
        )
        text, calls = (thought.result or "").strip() or None, thought.calls
        if text is not None and (phase is not self.phase or not self._allows(actor, text)):
            text = None
        await self._send(actor, text, (request, number), calls)

    def _allows(self, actor: str, text: str) -> bool:
        is_over = self.table.over or self.log.refuse(actor, text, self.table.requests) is not None
        return not is_over

    # Chats before decisions

    async def prepare(self, table: Table) -> None:
        """Repeat the lines of an earlier run, and open the chat before a decision, if there is one.

        Raises:
            Halted: the run stops.
        """
        self._with_answer, self._thinking = {}, set()
        self._repeat()
        when, request = self.log.settings.when, table.requests
        if when == "during" or (when == "before" and request) or request in self._ended:
            return
        if not self._people_in_chat():
            await self._take_turns()
            return
        self.phase = ChatPhase(time.time() + self.log.settings.seconds)
        self.watch(table)
        try:
            self._answer_in_background()
            await self._wait_for_people(self.phase)
        finally:
            self.phase = None
        await self._note(next(iter(self.log.members)), {ENDED: True}, None)
        self.watch(table)

    def _people_in_chat(self) -> set[str]:
        return self.people() & self.log.members.keys()

    async def _wait_for_people(self, phase: ChatPhase) -> None:
        while self._people_in_chat() - phase.ready and time.time() < phase.until:
            self.caller.dispatcher.check()
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), phase.until - time.time())
            except TimeoutError:
                break
        self.caller.dispatcher.check()

    def _answer_in_background(self) -> None:
        """Let models and scripts react to people's lines, while the people go on."""
        if self._background or not self._people_in_chat() or not self.is_live:
            return
        phase = self.phase
        task = asyncio.create_task(self._react(phase))
        self._background.add(task)

        def go_on(_: object) -> None:
            self._background.discard(task)
            if self.phase is not None and self.phase is not phase:  # a later chat has begun
                self._answer_in_background()

        task.add_done_callback(go_on)

    async def _react(self, phase: ChatPhase | None) -> None:
        try:
            if phase is not None:
                await self._take_turns(phase)
            while phase is None and (actor := self._next_to_react()):
                await self._take_turn(actor)
        except (Halted, MatchSpent):
            pass  # the next answer stops the match for the same reason
        except IllegalAction:
            LOG.info("a line came after the end of the chat")
        except Exception:
            LOG.exception("a player of match %s failed to chat", self.caller.match_id)

    def _next_to_react(self) -> str | None:
        """Return an idle program that hasn't seen the last line of a person, or None."""
        table, people, turns = self.table, self.people(), self._turns()
        if self.log.settings.when != "during" or table.over:
            return None
        for actor in self._programs():
            unseen = self.log.lines[turns[actor][-1] if actor in turns else 0 :]
            is_new = any(
                line.actor in people
                and actor in self.log.members[line.actor]
                and (line.request == table.requests or actor in line.after)
                for line in unseen
            )
            is_idle = actor not in table.pending
            if is_new and is_idle and self.log.left(actor, table.requests) > 0:
                return actor
        return None

    # Lines with answers

    def begin_answer(self, actor: str) -> None:
        """Note that an actor has received its request: it reads later lines after its answer."""
        self._thinking.add(actor)

    async def end_answer(self, actor: str, line: str | None) -> None:
        """Send an actor's line with its answer, when all simultaneous answers have arrived."""
        if self.log.settings.when != "during":
            return
        self._with_answer[actor] = line
        if len(self._with_answer) < len(self.table.asked):
            return
        for name in self.table.asked:
            text = (self._with_answer[name] or "").strip()
            if text and self._allows(name, text) and not self._has_sent(name):
                await self._send(name, text, after=[name])
        self._answer_in_background()

    def _has_sent(self, actor: str) -> bool:
        """Return whether an earlier run has sent an actor's line with its answer."""
        return any(
            entry.actor == actor
            and entry.request == self.table.requests
            and entry.turn is None
            and actor in entry.after
            for entry in self.entries
        )

    def script_line(self, actor: str) -> ChatTurn | None:
        """Return the turn in which a script may send a line with its answer, or None."""
        if self.log.settings.when != "during":
            return None
        return self.table.chat_turn(actor, self.table.requests)

    async def close(self) -> None:
        """Wait briefly for calls that are still in flight, then abandon them."""
        if self._background:
            _, late = await asyncio.wait(self._background, timeout=LAST_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
