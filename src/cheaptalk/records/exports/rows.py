"""Rows of exported tables, and the columns that all games share."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, get_args

from cheaptalk.models import Failure
from cheaptalk.models.calls import Route
from cheaptalk.players import Kind
from cheaptalk.players.seats import SEATS
from cheaptalk.records.costs import cost_of
from cheaptalk.records.exclusions import Stand
from cheaptalk.records.exports.columns import (
    BOOLEAN,
    INTEGER,
    JSON,
    NUMBER,
    TEXT,
    Column,
    column,
    time_column,
)
from cheaptalk.records.forfeits import VALID
from cheaptalk.records.judgements import Judgement
from cheaptalk.records.record import AnswerRecord, MatchRecord, Status
from cheaptalk.rules import Result

STATUSES = " | ".join(Status)
KINDS = " | ".join(Kind)
FAILURES = " | ".join(Failure)
ROUTES = " | ".join(get_args(Route))
STATES = "sent | answered | failed | unresolved"

SEAT = "The seat of the actor: the position that one player fills."
ROLE = "The role of that seat, such as buyer."


@dataclass
class MatchRow:
    """A row of the exported table of matches."""

    stand: Stand
    record: MatchRecord
    bought_by: Sequence[str] = ()

    @property
    def game(self) -> str:
        return self.record.game

    @property
    def ended(self) -> float | None:
        """End of the match in seconds since 1970; None for an imported match."""
        return None if self.record.imported else self.record.finished

    @property
    def imported(self) -> float | None:
        """Time of the import in seconds since 1970; None for other matches."""
        return self.record.finished if self.record.imported else None

    @cached_property
    def result(self) -> Result | None:
        """The result for metrics; None if the match did not finish."""
        return self.record.result() if self.record.status is Status.FINISHED else None

    def role(self, actor: str) -> str:
        return self.record.roles[self.record.seat_of(actor)]

    def source(self, key: str) -> Any:
        return (self.record.body.get("source") or {}).get(key)

    def label(self, seat: str) -> str | None:
        return self.record.label(seat) if seat in self.record.seats else None

    def settings(self, seat: str) -> Mapping[str, Any] | None:
        """Return all settings of the player in a seat; None if the seat doesn't exist."""
        return self.record.seats[seat]["spec"] if seat in self.record.seats else None

    def seat_kind(self, seat: str) -> str | None:
        settings = self.settings(seat) or {}
        return next((key for key in SEATS if settings.get(key) is not None), None)

    def model(self, seat: str) -> str | None:
        """Return the model string of the player in a seat; None if the player is not a model."""
        return (self.settings(seat) or {}).get("model")

    def forfeited(self, key: str) -> str | None:
        """Return the values of one attribute for all forfeits of the match, separated by commas."""
        return ", ".join(getattr(forfeit, key) for forfeit in self.record.forfeits) or None

    def payoff(self, seat: str) -> float | None:
        return (self.record.payoffs or {}).get(seat)

    def metric_value(self, compute: Callable[[Result], float | None]) -> float | None:
        return None if self.result is None else compute(self.result)

    def count(self, seat: str, kind: str) -> int | None:
        """Return the number of a seat's answers of one kind; None if it is unknown."""
        if seat not in self.record.seats or (self.record.imported and kind in VALID):
            return None
        return self.record.kinds.get(seat, {}).get(kind, 0)


@dataclass
class _OfMatch:
    match: MatchRow

    @property
    def game(self) -> str:
        return self.match.game


@dataclass
class AnswerRow(_OfMatch):
    """A row of the exported table of answers."""

    answer: AnswerRecord

    @property
    def kind(self) -> str | None:
        """Kind of the answer; None for a valid imported answer, whose attempts are unknown."""
        unknown = self.match.record.imported and self.answer.kind in VALID
        return None if unknown else self.answer.kind.value

    @cached_property
    def replies(self) -> list[Mapping[str, Any]]:
        """Responses to all calls made for the answer."""
        return [call["reply"] for call in self.answer.calls if call.get("reply")]

    def last(self, key: str) -> Any:
        return self.replies[-1].get(key) if self.replies else None

    @property
    def latency(self) -> float | None:
        """Total duration of all calls in seconds."""
        return sum(reply.get("seconds", 0.0) for reply in self.replies) if self.replies else None

    @property
    def dollars(self) -> float | None:
        """Total cost of all calls in dollars; None if the cost of a call is unknown."""
        costs = [cost_of(reply) for reply in self.replies]
        if not costs or any(cost.unpriced for cost in costs):
            return None
        return sum(cost.dollars for cost in costs)

    def used(self, key: str) -> int | None:
        """Return the total tokens of one kind over all calls for the answer."""
        tokens = [reply.get("usage", {}).get(key, 0) for reply in self.replies]
        return sum(tokens) if tokens else None


@dataclass
class CallRow(_OfMatch):
    """A row of the exported table of calls."""

    request: int
    actor: str
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
        """URL in the call's model string; None if it contains no URL."""
        match = re.search(r"@(https?://\S+)$", self.call.get("model", ""))
        return match[1] if match else None

    def used(self, key: str) -> Any:
        return self.reply.get("usage", {}).get(key)


def _from_method(
    method: str, name: str, type_: str, range_: str, meaning: str, key: str = ""
) -> Column:
    """Return a column that calls a method of each row, by default with the column's name."""
    read, key = attrgetter(method), key or name
    return Column(name, type_, range_, meaning, lambda row: read(row)(key))


def _used(name: str, meaning: str) -> Column:
    return _from_method("used", name, INTEGER, "tokens", meaning)


MATCH = [
    column("match_id", TEXT, "", "Hash of everything that defines the match.", "record.id"),
    column("study", TEXT, "", "The exported study.", "stand.study"),
    column("game", TEXT, "", "The game's name."),
    column("rules_version", INTEGER, ">= 1", "The version of the game's rules.", "record.version"),
    column("instance", TEXT, "", "Equal for matches with equal parameters that share an "
           "instance; for an imported match, its id in the other system.", "record.instance_key"),
    column("repeat", INTEGER, ">= 0", "Counts repetitions with the same players on the same "
           "instance."),
    column("status", TEXT, STATUSES, "The status of the match; only finished matches that are not "
           "dropped are scored."),
    column("reason", TEXT, "", "Why the match failed, or who forfeited."),
    _from_method("forfeited", "forfeited_by", TEXT, "", "The player that forfeited the match; "
          "several are separated by commas, as in the next two columns.", "player"),
    _from_method("forfeited", "forfeited_seat", TEXT, "", "The seat of that player.", "seat"),
    _from_method("forfeited", "forfeit_kind", TEXT, KINDS, "The kind of its answer.", "kind"),
    column("dropped", BOOLEAN, "", "Whether the study's policy for invalid answers excludes the "
           "match from metrics.", "stand.dropped"),
    column("dropped_because", TEXT, "", "The invalid answers for which the match is excluded.",
           "stand.dropped_because"),
    column("replaces", TEXT, "", "The match that this replacement match replaces.",
           "stand.replaces"),
    column("planned", BOOLEAN, "", "Whether the match is in the study's current plan; superseded "
           "matches are not scored.", "stand.planned"),
    column("calls", INTEGER, ">= 0", "The number of calls for the answers; 0 before the match "
           "ends, because its calls are then only in the table of calls."),
    column("input_tokens", INTEGER, "tokens", "Input tokens of these calls, as the providers count "
           "them."),
    column("output_tokens", INTEGER, "tokens", "Output tokens of these calls, as the providers "
           "count them."),
    column("cached_tokens", INTEGER, "tokens", "Input tokens that the providers read from their "
           "caches; empty if unknown."),
    column("reasoning_tokens", INTEGER, "tokens", "Output tokens used for reasoning; empty if "
           "unknown."),
    column("dollars", NUMBER, ">= 0", "The cost of these calls at the prices of the time, as far "
           "as known."),
    column("unpriced", INTEGER, ">= 0", "The number of these calls with an unknown cost."),
    column("uncounted", INTEGER, ">= 0", "The number of these calls with an unknown token count."),
    column("implausible", INTEGER, ">= 0", "The number of these calls with implausible reported "
           "tokens, for which cheaptalk's own counts are used."),
    Column("bought_by", JSON, "", "The studies that bought these calls; if matches are shared, "
           "only these studies include them in their cost.",
           lambda row: list(row.bought_by) or None),
    column("finished", NUMBER, "seconds since 1970", "End or import of the match."),
    time_column("began_at", "record.begun", "Start of the match; empty if not recorded."),
    time_column("ended_at", "ended", "End of the match; empty for imported matches (source_date)."),
    time_column("imported_at", "imported", "Time of the import."),
    _from_method("record.body.get", "seed", TEXT, "", "The seed of all random numbers in the "
          "match."),
    _from_method("record.body.get", "package", TEXT, "", "The version of cheaptalk that recorded "
          "the match."),
    _from_method("source", "source_system", TEXT, "", "The system that an imported match comes "
          "from.", "system"),
    _from_method("source", "source_folder", TEXT, "", "Its location in the imported folder.",
          "folder"),
    _from_method("source", "source_date", TEXT, "", "When it was played, in that system's format.",
          "date"),
]  # fmt: skip

MATCH_KEYS = [
    column("match_id", TEXT, "", "The match, as in the table of matches.", "match.record.id"),
    column("study", TEXT, "", "The exported study.", "match.stand.study"),
    column("game", TEXT, "", "The game's name.", "game"),
]

OUTPUT_TOKENS = _used("output_tokens", "Output tokens, as the provider counts them.")
TOKENS = [
    OUTPUT_TOKENS,
    _used("cached_tokens", "Input tokens that the provider read from its cache."),
    _used("reasoning_tokens", "Output tokens used for reasoning."),
]
INPUT_TOKENS = _used("input_tokens", "Input tokens, as the provider counts them.")

ANSWER = [
    *MATCH_KEYS,
    column("request", INTEGER, ">= 0", "The request's number in the match.", "answer.request"),
    column("actor", TEXT, "", "The actor that answered.", "answer.actor"),
    Column("seat", TEXT, "", SEAT, lambda row: row.match.record.seat_of(row.answer.actor)),
    Column("role", TEXT, "", ROLE, lambda row: row.match.role(row.answer.actor)),
    Column("player", TEXT, "", "The label of the player in the study.",
           lambda row: row.match.record.label(row.match.record.seat_of(row.answer.actor))),
    column("kind", TEXT, KINDS, "The kind of the final answer: valid at once or after retries, or "
           "invalid and why. Empty for valid answers of imported matches, because the number of "
           "tries is unknown.", "kind"),
    column("action", JSON, "", "The complete action; empty if the actor gave no valid answer.",
           "answer.action"),
    Column("calls", INTEGER, ">= 0", "The number of calls for the answer.",
           lambda row: len(row.answer.calls)),
    INPUT_TOKENS,
    *TOKENS,
    column("dollars", NUMBER, ">= 0", "The cost of these calls at the prices of the time; empty "
           "if unknown.", "dollars"),
    column("latency", NUMBER, "seconds", "The total duration of these calls.", "latency"),
    _from_method("last", "model", TEXT, "", "The model id in the last response."),
    _from_method("last", "reply", TEXT, "", "The text of the last response, unchanged.", "text"),
]  # fmt: skip

CALL = [
    *MATCH_KEYS,
    column("request", INTEGER, ">= 0", "The request's number in the match.", "request"),
    column("actor", TEXT, "", "The actor that the request is addressed to.", "actor"),
    Column("seat", TEXT, "", SEAT, lambda row: row.match.record.seat_of(row.actor)),
    Column("role", TEXT, "", ROLE, lambda row: row.match.role(row.actor)),
    Column("player", TEXT, "", "The label of the player in the study.",
           lambda row: row.match.record.label(row.match.record.seat_of(row.actor))),
    column("call_index", INTEGER, ">= 0", "The call's index in the answer.", "attempt"),
    column("attempt", INTEGER, ">= 1", "Counts the attempts to send the call.", "sending"),
    column("state", TEXT, STATES, "The state of the attempt; unresolved ones, and sent ones if no "
           "run is active, were in flight when their run was killed.", "state"),
    _from_method("call.get", "requested_model", TEXT, "", "The requested model; empty for "
          "a person.", "model"),
    _from_method("call.get", "settings", JSON, "", "The settings of the call."),
    _from_method("call.get", "messages", JSON, "", "The messages that were sent."),
    _from_method("call.get", "form", JSON, "", "The requested format of the answer: its name, its "
          "JSON schema, and the requested route."),
    _from_method("reply.get", "route", TEXT, ROUTES, "How the format was requested: with the "
          "provider's own schema option, as a tool, or in the prompt."),
    _from_method("reply.get", "sent", JSON, "", "The settings as transmitted."),
    column("endpoint", TEXT, "", "The address in the model string, if it has one.", "endpoint"),
    column("bought_by", TEXT, "", "The study that sent it.", "bought_by"),
    time_column("sent_at", "sent", "When it was sent; empty if not recorded."),
    time_column("answered_at", "received", "When its response was recorded; empty if there is none "
                "or the time was not recorded."),
    Column("page", JSON, "", "What a person was shown, and the form to fill in.",
           lambda row: None if "messages" in row.call else row.call),
    _from_method("reply.get", "reply", TEXT, "", "The text of the response, unchanged; empty if "
          "there is none.", "text"),
    _from_method("reply.get", "failure", TEXT, FAILURES, "Why there is no response."),
    _from_method("reply.get", "detail", TEXT, "", "The provider's message about a failure."),
    _from_method("reply.get", "model", TEXT, "", "The model id in the response."),
    _from_method("reply.get", "fingerprint", TEXT, "", "The provider's fingerprint of its system."),
    _from_method("reply.get", "status", INTEGER, "", "The HTTP status of a failure, if any."),
    _from_method("reply.get", "tools", JSON, "", "The names of tools that the model called."),
    _from_method("reply.get", "reasoning", TEXT, "", "The model's reasoning, if the provider "
          "returns it."),
    _from_method("reply.get", "cached", BOOLEAN, "", "Whether the response came from the cache."),
    _from_method("reply.get", "batch", BOOLEAN, "", "Whether it came from a provider's batch."),
    _from_method("reply.get", "finish", TEXT, "", "The provider's finish reason."),
    _used("input_tokens", "Input tokens, as the provider counts them."),
    *TOKENS,
    _from_method("reply.get", "reported", TEXT, "", "The token counts that the server reported, as "
          "JSON, if they are implausible: cheaptalk's own counts are then used."),
    _from_method("reply.get", "dollars", NUMBER, ">= 0", "The cost at the prices of the time; "
          "empty if unknown."),
    _from_method("reply.get", "latency", NUMBER, "seconds", "From sending to the last byte.",
          "seconds"),
]  # fmt: skip


@dataclass
class JudgementRow(_OfMatch):
    """A row of the exported table of judgements."""

    judgement: Judgement
    spec: Mapping[str, Any]

    @property
    def seat(self) -> str | None:
        """Seat of the judged actor; None if the whole match is judged."""
        return self.match.record.at.get(self.judgement.item.rpartition("/")[2])

    def used(self, key: str) -> Any:
        return getattr(self.judgement.cost.usage, key)

    def verdict_of(self, key: str) -> Any:
        return (self.judgement.verdict or {}).get(key)

    @property
    def request(self) -> int | None:
        """Request number of the judged answer; None if the item is not an answer."""
        request, slash, _ = self.judgement.item.partition("/")
        return int(request) if slash else None


JUDGEMENT = [
    *MATCH_KEYS,
    column("judge", TEXT, "", "Identifies the judge: its rubric, and its model with all settings.",
           "judgement.judge"),
    Column("rubric", TEXT, "", "The name of the rubric.", lambda row: row.spec["rubric"]["name"]),
    Column("judge_model", TEXT, "", "The judge's model.", lambda row: row.spec["model"]["model"]),
    column("item", TEXT, "", "The judged item: a request number and an actor, an actor, or match.",
           "judgement.item"),
    column("request", INTEGER, ">= 0", "The request number of the judged answer.", "request"),
    column("seat", TEXT, "", SEAT, "seat"),
    Column("player", TEXT, "", "The label of the judged player in the study.",
           lambda row: row.seat and row.match.record.label(row.seat)),
    column("kind", TEXT, KINDS, "The kind of the judge's answer.", "judgement.kind.value"),
    _from_method("verdict_of", "category", TEXT, "", "The verdict, for a rubric with categories."),
    _from_method("verdict_of", "score", INTEGER, "", "The verdict, for a rubric with a scale."),
    _from_method("verdict_of", "quote", TEXT, "", "The decisive passage, quoted."),
    _from_method("verdict_of", "reason", TEXT, "", "The judge's reason."),
    Column("calls", INTEGER, ">= 0", "The number of calls for the verdict.",
           lambda row: len(row.judgement.calls)),
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    column("made", NUMBER, "seconds since 1970", "When the verdict was stored.", "judgement.made"),
]  # fmt: skip
