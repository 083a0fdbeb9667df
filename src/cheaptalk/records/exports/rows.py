"""Rows of exported tables: what each is read from, and the columns that all games share."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from operator import attrgetter
from typing import Any, get_args

from cheaptalk.models import Failure
from cheaptalk.models.calls import Route
from cheaptalk.players import Kind
from cheaptalk.players.seats import SEATS
from cheaptalk.records.costs import cost_of
from cheaptalk.records.exclusions import Stand
from cheaptalk.records.exports.columns import BOOLEAN, INTEGER, JSON, NUMBER, TEXT, Column
from cheaptalk.records.forfeits import VALID
from cheaptalk.records.judgements import Judgement
from cheaptalk.records.record import AnswerRecord, MatchRecord, Status
from cheaptalk.rules import Result

STATUSES = " | ".join(Status)
KINDS = " | ".join(Kind)
FAILURES = " | ".join(Failure)
ROUTES = " | ".join(get_args(Route))
STATES = "sent | answered | failed | unresolved"

PLACES = "The place that the seat belongs to: what one player fills."
ROLES = "The role of that place: the part that strategies are written for."


@dataclass
class MatchRow:
    """What a row of matches is read from."""

    stand: Stand
    record: MatchRecord
    bought_by: Sequence[str] = ()

    @property
    def game(self) -> str:
        return self.record.game

    @property
    def ended(self) -> float | None:
        """When it ended here, in seconds since 1970."""
        return None if self.record.imported else self.record.finished

    @property
    def imported(self) -> float | None:
        """When it was imported, in seconds since 1970."""
        return self.record.finished if self.record.imported else None

    @cached_property
    def result(self) -> Result | None:
        """What measures see; None of a match that did not finish."""
        return self.record.result() if self.record.status is Status.FINISHED else None

    def role(self, seat: str) -> str:
        """The role of a seat."""
        return self.record.places[self.record.place_of(seat)]

    def source(self, key: str) -> Any:
        return (self.record.body.get("source") or {}).get(key)

    def label(self, place: str) -> str | None:
        return self.record.label(place) if place in self.record.seats else None

    def settings(self, place: str) -> Mapping[str, Any] | None:
        """All settings of the player who fills a place; None where there is no such place."""
        return self.record.seats[place]["spec"] if place in self.record.seats else None

    def seat_kind(self, place: str) -> str | None:
        """The key that tells the kind of that player, of the kinds that are registered."""
        settings = self.settings(place) or {}
        return next((key for key in SEATS if settings.get(key) is not None), None)

    def model(self, place: str) -> str | None:
        """That player's model string; None where it is no model."""
        return (self.settings(place) or {}).get("model")

    def forfeited(self, key: str) -> str | None:
        """One thing of all who forfeited it."""
        return ", ".join(getattr(one, key) for one in self.record.forfeits) or None

    def payoff(self, place: str) -> float | None:
        return (self.record.payoffs or {}).get(place)

    def measured(self, of: Callable[[Result], float | None]) -> float | None:
        return None if self.result is None else of(self.result)

    def count(self, place: str, kind: str) -> int | None:
        """How many questions to a place ended as this kind; None where there is no such place, or
        where nobody knows at which try the answers of an imported match were valid.
        """
        if place not in self.record.seats or (self.record.imported and kind in VALID):
            return None
        return self.record.kinds.get(place, {}).get(kind, 0)


@dataclass
class _OfMatch:
    """What a row is read from that tells of a part of a match."""

    match: MatchRow

    @property
    def game(self) -> str:
        return self.match.game


@dataclass
class AnswerRow(_OfMatch):
    """What a row of answers is read from."""

    answer: AnswerRecord

    @property
    def kind(self) -> str | None:
        """What became of the question; None of an imported answer that is valid, as nobody knows
        at which try.
        """
        unknown = self.match.record.imported and self.answer.kind in VALID
        return None if unknown else self.answer.kind.value

    @cached_property
    def replies(self) -> list[Mapping[str, Any]]:
        """The replies to all calls that the answer took."""
        return [call["reply"] for call in self.answer.calls if call.get("reply")]

    def last(self, key: str) -> Any:
        return self.replies[-1].get(key) if self.replies else None

    @property
    def latency(self) -> float | None:
        """Seconds over all calls."""
        return sum(reply.get("seconds", 0.0) for reply in self.replies) if self.replies else None

    @property
    def dollars(self) -> float | None:
        """Dollars over all calls; None where one is not known."""
        costs = [cost_of(reply) for reply in self.replies]
        if not costs or any(cost.unpriced for cost in costs):
            return None
        return sum(cost.dollars for cost in costs)

    def used(self, key: str) -> int | None:
        """Tokens over all calls."""
        tokens = [reply.get("usage", {}).get(key, 0) for reply in self.replies]
        return sum(tokens) if tokens else None


@dataclass
class CallRow(_OfMatch):
    """What a row of calls is read from."""

    request: int
    seat: str
    attempt: int
    sending: int
    state: str
    call: Mapping[str, Any]
    reply: Mapping[str, Any]
    sent: float | None
    received: float | None
    bought_by: str | None

    @property
    def endpoint(self) -> str | None:
        """The address in the model string; one with a password in it is no model string."""
        found = re.search(r"@(https?://\S+)$", self.call.get("model", ""))
        return found[1] if found else None

    def used(self, key: str) -> Any:
        return self.reply.get("usage", {}).get(key)


def moment(seconds: float | None) -> str | None:
    """A moment in UTC, as ISO 8601 writes it.

    >>> moment(1.5)
    '1970-01-01T00:00:01.500000Z'
    """
    if seconds is None:
        return None
    utc = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return utc.isoformat(timespec="microseconds") + "Z"


def _moment(name: str, of: str, meaning: str) -> Column:
    """A column of moments, which an attribute gives in seconds."""
    get = attrgetter(of)
    return Column(name, TEXT, "UTC, ISO 8601", meaning, lambda row: moment(get(row)))


def _match(name: str, type_: str, range_: str, meaning: str, of: str = "") -> Column:
    return Column(name, type_, range_, meaning, attrgetter(of or f"record.{name}"))


def _told(by: str, name: str, type_: str, range_: str, meaning: str, key: str = "") -> Column:
    """A column that a method tells by its name."""
    tell, key = attrgetter(by), key or name
    return Column(name, type_, range_, meaning, lambda row: tell(row)(key))


def _used(name: str, meaning: str) -> Column:
    return _told("used", name, INTEGER, "tokens", meaning)


MATCH = [
    _match("match_id", TEXT, "", "Hash of everything that defines the match.", "record.id"),
    _match("study", TEXT, "", "The study that the match is exported with.", "stand.study"),
    _match("game", TEXT, "", "The game's name."),
    _match("rules_version", INTEGER, ">= 1", "The version of the game's rules.", "record.version"),
    _match("deal_key", TEXT, "", "Equal for matches with equal parameters that share a deal; of an "
           "imported match, its id in the other system."),
    _match("repeat", INTEGER, ">= 0", "Counts repetitions of a seating on one deal."),
    _match("status", TEXT, STATUSES, "How far the match has come; only finished ones count, "
           "and of these none that is dropped."),
    _match("reason", TEXT, "", "Why the match failed, or who forfeited."),
    _told("forfeited", "forfeited_by", TEXT, "", "The player that forfeited the match; of several, "
          "with commas between, as in the next two columns.", "player"),
    _told("forfeited", "forfeited_place", TEXT, "", "Where it sat.", "place"),
    _told("forfeited", "forfeit_kind", TEXT, KINDS, "What its answer was.", "kind"),
    _match("dropped", BOOLEAN, "", "Whether the match is no part of the study's measures, by its "
           "policy for answers that are none.", "stand.dropped"),
    _match("dropped_because", TEXT, "", "Who gave which such answers.", "stand.dropped_because"),
    _match("in_place_of", TEXT, "", "The match in whose place this one was played on a fresh deal.",
           "stand.in_place_of"),
    _match("planned", BOOLEAN, "", "Whether the study as it now stands has this match; those of "
           "its earlier forms count for nothing.", "stand.planned"),
    _match("calls", INTEGER, ">= 0", "How many calls the answers took; 0 until the match has "
           "ended, as what it took until then stands in the table calls alone."),
    _match("input_tokens", INTEGER, "tokens", "What those calls sent, as providers count."),
    _match("output_tokens", INTEGER, "tokens", "What came back, as providers count."),
    _match("cached_tokens", INTEGER, "tokens", "Those of the input that providers had read before; "
           "empty where nobody counted."),
    _match("reasoning_tokens", INTEGER, "tokens", "Those of the output that were spent on "
           "reasoning; empty where nobody counted."),
    _match("dollars", NUMBER, ">= 0", "What those calls cost at the prices of the time, as far as "
           "these were known."),
    _match("unpriced", INTEGER, ">= 0", "Those calls that cost something nobody knows."),
    _match("uncounted", INTEGER, ">= 0", "Those calls that took tokens nobody counted."),
    _match("implausible", INTEGER, ">= 0", "Those calls whose tokens as their servers report them "
           "cannot be true: our own count stands for them."),
    Column("bought_by", JSON, "", "The studies that bought those calls, where matches are shared: "
           "each of these alone counts them in what it cost.",
           lambda row: list(row.bought_by) or None),
    _match("finished", NUMBER, "seconds since 1970", "When the match ended or was imported."),
    _moment("began_at", "record.begun", "When the match began; empty where nobody noted it."),
    _moment("ended_at", "ended", "When the match ended; empty of imported matches (source_date)."),
    _moment("imported_at", "imported", "When the match was imported."),
    _told("record.body.get", "seed", TEXT, "", "The seed of all chance in the match."),
    _told("record.body.get", "package", TEXT, "", "The version of cheaptalk that recorded the "
          "match."),
    _told("source", "source_system", TEXT, "", "The system that an imported match comes from.",
          "system"),
    _told("source", "source_folder", TEXT, "", "Where it lay in the folder that was imported.",
          "folder"),
    _told("source", "source_date", TEXT, "", "When it was played, as that system wrote it.",
          "date"),
]  # fmt: skip

MATCHED = [
    _match("match_id", TEXT, "", "The match: as in the table of matches.", "match.record.id"),
    _match("study", TEXT, "", "The study that the match is exported with.", "match.stand.study"),
    _match("game", TEXT, "", "The game's name.", "game"),
]

MADE = _used("output_tokens", "What came back, as the provider counts.")
COUNTED = [
    MADE,
    _used("cached_tokens", "Those of the input that the provider had read before."),
    _used("reasoning_tokens", "Those of the output that were spent on reasoning."),
]
BOUGHT = _used("input_tokens", "What those calls sent, as the provider counts.")

ANSWER = [
    *MATCHED,
    _match("request", INTEGER, ">= 0", "The number of the question within the match.",
           "answer.request"),
    _match("seat", TEXT, "", "The seat that answered.", "answer.seat"),
    Column("place", TEXT, "", PLACES, lambda row: row.match.record.place_of(row.answer.seat)),
    Column("role", TEXT, "", ROLES, lambda row: row.match.role(row.answer.seat)),
    Column("player", TEXT, "", "What the study calls the player.",
           lambda row: row.match.record.label(row.match.record.place_of(row.answer.seat))),
    _match("kind", TEXT, KINDS, "What became of the question: answered at once, or after being "
           "asked again; or no answer, finally, and why. Empty of valid answers of imported "
           "matches, whose number of tries is not known.", "kind"),
    _match("action", JSON, "", "The whole answer; empty where the seat failed to answer.",
           "answer.action"),
    Column("calls", INTEGER, ">= 0", "How many calls the answer took.",
           lambda row: len(row.answer.calls)),
    BOUGHT,
    *COUNTED,
    _match("dollars", NUMBER, ">= 0", "What those calls cost at the prices of the time; empty "
           "where nobody knows.", "dollars"),
    _match("latency", NUMBER, "seconds", "How long those calls took together.", "latency"),
    _told("last", "model", TEXT, "", "The model id that came back with the last reply."),
    _told("last", "reply", TEXT, "", "The last reply, character for character.", "text"),
]  # fmt: skip

CALL = [
    *MATCHED,
    _match("request", INTEGER, ">= 0", "The number of the question within the match.", "request"),
    _match("seat", TEXT, "", "The seat that was asked.", "seat"),
    Column("place", TEXT, "", PLACES, lambda row: row.match.record.place_of(row.seat)),
    Column("role", TEXT, "", ROLES, lambda row: row.match.role(row.seat)),
    Column("player", TEXT, "", "What the study calls the player.",
           lambda row: row.match.record.label(row.match.record.place_of(row.seat))),
    _match("attempt", INTEGER, ">= 0", "The call's place within the answer.", "attempt"),
    _match("sending", INTEGER, ">= 1", "Counts sendings of the same call.", "sending"),
    _match("state", TEXT, STATES, "What came of the sending; an unresolved one was under way when "
           "its run was cut off, as a sent one was if no run is under way.", "state"),
    _told("call.get", "asked_model", TEXT, "", "The model that was asked; empty where a person "
          "was.", "model"),
    _told("call.get", "settings", JSON, "", "The settings that were sent."),
    _told("call.get", "messages", JSON, "", "The conversation that was sent."),
    _told("call.get", "form", JSON, "", "The form of the answer that was asked for: its name, its "
          "JSON schema, and the route that was wanted."),
    _told("reply.get", "route", TEXT, ROUTES, "How the form was asked for: as the provider's own "
          "schema, as a tool that was offered, or in words."),
    _told("reply.get", "sent", JSON, "", "The settings as they went over the wire."),
    _match("endpoint", TEXT, "", "The address that the model string names, where it names one.",
           "endpoint"),
    _match("bought_by", TEXT, "", "The study that sent it.", "bought_by"),
    _moment("sent_at", "sent", "When it was sent; empty where nobody noted it."),
    _moment("answered_at", "received", "When its reply was recorded; empty where none came, or "
            "nobody noted it."),
    Column("page", JSON, "", "What a person was shown, and the form to fill in.",
           lambda row: None if "messages" in row.call else row.call),
    _told("reply.get", "reply", TEXT, "", "The reply, character for character; empty where none "
          "came.", "text"),
    _told("reply.get", "failure", TEXT, FAILURES, "Why there is no reply."),
    _told("reply.get", "detail", TEXT, "", "The provider's own words about a failure."),
    _told("reply.get", "model", TEXT, "", "The model id that came back."),
    _told("reply.get", "fingerprint", TEXT, "", "What the provider calls the system behind it."),
    _told("reply.get", "status", INTEGER, "", "The HTTP status of a failure that came with one."),
    _told("reply.get", "tools", JSON, "", "The tools that the model called, by name."),
    _told("reply.get", "reasoning", TEXT, "", "The model's reasoning, where the provider "
          "gives it."),
    _told("reply.get", "cached", BOOLEAN, "", "Whether it was bought before, and came from the "
          "cache."),
    _told("reply.get", "batch", BOOLEAN, "", "Whether it came from a provider's batch."),
    _told("reply.get", "finish", TEXT, "", "The provider's reason for ending the reply."),
    _used("input_tokens", "What was sent, as the provider counts."),
    *COUNTED,
    _told("reply.get", "reported", TEXT, "", "What the server said of tokens, as JSON, where that "
          "cannot be true: the counts are then our own."),
    _told("reply.get", "dollars", NUMBER, ">= 0", "What it cost at the prices of the time; empty "
          "where nobody knows."),
    _told("reply.get", "latency", NUMBER, "seconds", "From sending to the last byte.", "seconds"),
]  # fmt: skip


@dataclass
class JudgementRow(_OfMatch):
    """What a row of judgements is read from."""

    judgement: Judgement
    spec: Mapping[str, Any]

    @property
    def place(self) -> str | None:
        """The place of who is judged; none where a match is."""
        return self.match.record.at.get(self.judgement.item.rpartition("/")[2])

    def used(self, key: str) -> Any:
        return getattr(self.judgement.cost.usage, key)

    def said(self, key: str) -> Any:
        """A part of the verdict."""
        return (self.judgement.verdict or {}).get(key)

    @property
    def request(self) -> int | None:
        """The number of the judged answer; none where more than an answer is judged."""
        request, slash, _ = self.judgement.item.partition("/")
        return int(request) if slash else None


JUDGEMENT = [
    *MATCHED,
    _match("judge", TEXT, "", "Stands for the judge: its rubric, and its model with all settings.",
           "judgement.judge"),
    Column("rubric", TEXT, "", "What the judge was asked, by name.",
           lambda row: row.spec["rubric"]["name"]),
    Column("judge_model", TEXT, "", "The model that judged.",
           lambda row: row.spec["model"]["model"]),
    _match("item", TEXT, "", "What was judged: a question's number and a seat, a seat, or match.",
           "judgement.item"),
    _match("request", INTEGER, ">= 0", "The number of the question whose answer was judged.",
           "request"),
    _match("place", TEXT, "", PLACES, "place"),
    Column("player", TEXT, "", "What the study calls the player who was judged.",
           lambda row: row.place and row.match.record.label(row.place)),
    _match("kind", TEXT, KINDS, "What became of the question to the judge.",
           "judgement.kind.value"),
    _told("said", "category", TEXT, "", "The verdict, of a rubric with categories."),
    _told("said", "score", INTEGER, "", "The verdict, of a rubric with a scale."),
    _told("said", "quote", TEXT, "", "The words that decide it, as the judge gives them."),
    _told("said", "reason", TEXT, "", "The judge's reason."),
    Column("calls", INTEGER, ">= 0", "How many calls the verdict took.",
           lambda row: len(row.judgement.calls)),
    BOUGHT,
    MADE,
    _match("made", NUMBER, "seconds since 1970", "When the verdict was stored.", "judgement.made"),
]  # fmt: skip
