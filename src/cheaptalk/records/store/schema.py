"""The tables of the store. A test checks that ``migrations/`` produces the same tables."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, get_args

import sqlalchemy as sa
from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, LargeBinary
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as insert  # re-exported

from cheaptalk.players import Kind
from cheaptalk.records.costs import Cost
from cheaptalk.records.record import Status
from cheaptalk.records.store.column_types import (
    Choice,
    LongWords,
    Moment,
    Number,
    Shaped,
    Whole,
    Words,
)
from cheaptalk.records.validation import (
    Finite,
    MadeCall,
    RecordedCall,
    RecordedJudge,
    RecordedReply,
)

BASELINE = "0011"
"""Oldest supported schema version; stores with an earlier version are refused."""
REVISION = "0021"
"""Newest schema version; stores with a later version are refused."""

CALL_STATES = ("sent", "answered", "failed", "unresolved")
BATCH_STATES = ("planned", "submitted", "collected")
Ending: TypeAlias = Literal[
    "complete",
    "declined",
    "screened_out",
    "quota_full",
    "failed_attention",
    "timed_out",
    "partner_left",
    "technical",
    "removed",
    "withdrawn",
]
"""The ending of a participant's visit."""
ENDINGS: tuple[Ending, ...] = get_args(Ending)
PLAY_STATES = (
    "assigned",
    "playing",
    "finished",
    "left",
    "partner_left",
    "timed_out",
    "technical",
    "erased",
)
"""States of a participant's game; ``technical`` is an error outside the game."""

NOTICE_KINDS = ("message", "attention", "pause", "extension", "advance", "replacement")
"""Kinds of notices: texts for a participant, and researchers' actions on a participant."""

metadata = sa.MetaData()


def _table(name: str, *columns: sa.schema.SchemaItem, with_rowid: bool = True) -> sa.Table:
    return sa.Table(name, metadata, *columns, sqlite_with_rowid=with_rowid)


studies: sa.Table = _table(
    "studies",
    Column("id", Integer, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("spec", Shaped(dict[str, Any]), nullable=False, comment="the study's definition"),
    Column("package", Words, nullable=False, comment="the cheaptalk version that registered it"),
    Column("created", Moment, nullable=False, comment="seconds since 1970"),
    Column("halted", LongWords, comment="why its last run stopped early; null if it did not"),
    Column("planned", Whole, comment="number of planned matches; null before the first run"),
    Column("digest", Words, comment="hash of name and definition; null in older rows"),
    Column("expected", Whole, comment="minimum number of matches after its last run"),
)

configurations: sa.Table = _table(
    "configurations",
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column("game", Words, nullable=False),
    Column("version", Whole, nullable=False, comment="rules version"),
    Column("parameters", Shaped(dict[str, Any]), nullable=False),
    Column("roles", Shaped(dict[str, str] | None), comment="by seat; null if unknown"),
)

players: sa.Table = _table(
    "players",
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column("spec", Shaped(dict[str, Any]), nullable=False, comment="all settings of the player"),
)

rosters: sa.Table = _table(
    "rosters",
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("player_id", Integer, ForeignKey("players.id"), primary_key=True),
    Column("label", Words, nullable=False, comment="the player's label in the study"),
    Column("digest", Words, comment="hash of this row; null in older rows"),
)

SEATS = Shaped(dict[str, int])
PAYOFFS = Shaped(dict[str, Finite] | None)
KINDS = Shaped(dict[str, dict[Kind, int]] | None)
matches: sa.Table = _table(
    "matches",
    Column("number", Integer, primary_key=True),
    Column("id", Words, nullable=False, unique=True, comment="hash of everything that defines it"),
    Column("configuration_id", Integer, ForeignKey("configurations.id"), nullable=False),
    Column("instance", Words, nullable=False, comment="equal for matches that share an instance"),
    Column("repeat", Integer, nullable=False),
    Column("seats", SEATS, nullable=False, comment="player ids by seat"),
    Column("status", Choice(*Status), nullable=False),
    Column("reason", LongWords, comment="why it failed, or who forfeited"),
    Column("outcome", Shaped(dict[str, Any] | None)),
    Column("payoffs", PAYOFFS, comment="by seat, in the game's unit"),
    Column("kinds", KINDS, comment="counts by seat and kind"),
    Column("calls", Integer, nullable=False, default=0),
    Column("input_tokens", Integer, nullable=False, default=0),
    Column("output_tokens", Integer, nullable=False, default=0),
    Column("finished", Moment, comment="seconds since 1970"),
    Column("body", LargeBinary, comment="seed, instance and answers: zlib-compressed JSON"),
    Column("cached_tokens", Integer, comment="part of the input; null if unknown"),
    Column("reasoning_tokens", Integer, comment="part of the output; null if unknown"),
    Column("dollars", Float, comment="at the prices of the time, as far as known"),
    Column("unpriced", Integer, comment="calls with unknown price; null if unknown"),
    Column("uncounted", Integer, comment="calls with unknown tokens; null if unknown"),
    Column("begun", Moment, comment="seconds since 1970; null if not recorded"),
    Column("implausible", Integer, comment="calls with implausible reported tokens"),
)

SEATS_TEXT = sa.cast(matches.c.seats, sa.String)
"""The seats as text, which every database can group by; parse it with ``SEATS``."""
LAST_NUMBER = sa.select(sa.func.coalesce(sa.func.max(matches.c.number), 0)).scalar_subquery()
"""Number of the last stored match."""

metrics: sa.Table = _table(
    "metrics",
    Column(
        "match_number", Integer, ForeignKey("matches.number", ondelete="CASCADE"), primary_key=True
    ),
    Column("definitions", Words, nullable=False, comment="hash of the metrics' definitions"),
    Column("numbers", LargeBinary, nullable=False, comment="64-bit floats; NaN if undefined"),
)

members: sa.Table = _table(
    "members",
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("match_number", Integer, ForeignKey("matches.number"), primary_key=True),
    Column("current", Boolean, nullable=False, server_default="1", comment="false if superseded"),
    with_rowid=False,
)

purchases: sa.Table = _table(
    "purchases",
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("match_number", Integer, ForeignKey("matches.number"), primary_key=True),
    Column("calls", Whole, nullable=False, comment="this study's calls in the record of the match"),
    *(
        Column(name, Number if name == "dollars" else Whole, nullable=False)
        for name in Cost().columns
        if name != "calls"
    ),
)

rooms: sa.Table = _table(
    "rooms",
    Column("code", Words, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("kept", Shaped(dict[str, Any]), nullable=False, comment="state of the room"),
    Column("changed", Moment, nullable=False, comment="seconds since 1970"),
)


def _of_participant() -> Column[int]:
    """Return a foreign-key column that links a row to its participant, with cascading deletion."""
    foreign_key = ForeignKey("participants.id", ondelete="CASCADE")
    return Column("participant_id", Integer, foreign_key, primary_key=True)


participants: sa.Table = _table(
    "participants",
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("code", Words, nullable=False, unique=True, comment="identifies the participant"),
    Column("cohort", Words, nullable=False, comment="different cohorts are never matched"),
    Column("step", Words, nullable=False, comment="current step"),
    Column("visit", Whole, nullable=False, comment="number of visits"),
    Column("ending", Choice(*ENDINGS), comment="how the last visit ended; null if it has not"),
    Column("known_as", Words, comment="chosen name; null if none"),
    Column("language", Words, comment="language of the pages"),
    Column("flags", Shaped(list[str]), nullable=False, comment="flags"),
    Column("begun", Moment, nullable=False, comment="seconds since 1970"),
    Column("changed", Moment, nullable=False, comment="time of the last progress"),
    Column(
        "hidden_seconds",
        Number,
        nullable=False,
        server_default="0",
        comment="time for which the page was open but not visible",
    ),
    Column(
        "hidden_times",
        Whole,
        nullable=False,
        server_default="0",
        comment="number of times that the page was hidden",
    ),
)

responses: sa.Table = _table(
    "responses",
    _of_participant(),
    Column("number", Whole, primary_key=True, comment="counts responses, from 0"),
    Column("step", Words, nullable=False, comment="the step that asked"),
    Column("visit", Whole, nullable=False),
    Column("game", Whole, nullable=False, comment="number of the previous or current game"),
    Column("answer", Shaped(dict[str, Any]), nullable=False, comment="answers by item"),
    Column("correct", Boolean, comment="null if no answer is expected"),
    Column("shown", Moment, comment="seconds since 1970; null if not recorded"),
    Column("answered", Moment, nullable=False),
    Column("text_version", Whole, comment="of the page; null if not recorded"),
    with_rowid=False,
)

plays: sa.Table = _table(
    "plays",
    _of_participant(),
    Column("number", Whole, primary_key=True, comment="counts a participant's games, from 1"),
    Column("treatment", Words, nullable=False, comment="the assigned treatment"),
    Column("game", Words, nullable=False),
    Column("room", Words, comment="null if none was found"),
    Column("match_id", Words, comment="null before it begins and after erasure"),
    Column("seat", Words),
    Column("state", Choice(*PLAY_STATES), nullable=False, comment="state of the game"),
    Column("payoff", Number, comment="in the game's unit; null if not finished"),
    Column("cents", Whole, comment="earnings; null before it ends"),
    Column("assigned", Moment, nullable=False, comment="seconds since 1970"),
    Column("ended", Moment),
    Column("sequence", Words, comment="order of the participant's treatments; null without one"),
    Column("matching_group", Words, comment="participants who meet only each other; null if any"),
    Column("paid", Boolean, comment="whether it was selected for payment; null before the end"),
    Column("paid_rounds", Shaped(list[int] | None), comment="rounds drawn for payment"),
    with_rowid=False,
)

notices: sa.Table = _table(
    "notices",
    Column("id", Integer, primary_key=True),
    Column(
        "participant_id", Integer, ForeignKey("participants.id", ondelete="CASCADE"), nullable=False
    ),
    Column("kind", Choice(*NOTICE_KINDS), nullable=False, comment="kind of notice or action"),
    Column("text", LongWords, nullable=False, comment="text, added minutes, step or match"),
    Column("wanted", Words, comment="expected answer; null if none"),
    Column("sent", Moment, nullable=False, comment="seconds since 1970"),
    Column("due", Moment, comment="deadline; null if none"),
    Column("answered", Moment, comment="time of the answer or, for a pause, of its end"),
    Column("correct", Boolean, comment="null for open prompts and for messages"),
)

payments: sa.Table = _table(
    "payments",
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column(
        "participant_id",
        Integer,
        ForeignKey("participants.id", ondelete="SET NULL"),
        comment="null if deleted",
    ),
    Column("key", Words, nullable=False, comment="reason; each is paid only once"),
    Column("kind", Choice("base", "bonus"), nullable=False),
    Column("cents", Whole, nullable=False),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
    Column("payout_id", Integer, ForeignKey("payouts.id"), comment="null until paid"),
    sa.UniqueConstraint("participant_id", "key"),
)

payouts: sa.Table = _table(
    "payouts",
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("form", Words, nullable=False, comment="file format"),
    Column("by", Words, nullable=False, comment="the account that requested it"),
    Column("people", Whole, nullable=False),
    Column("cents", Whole, nullable=False),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
)

corrections: sa.Table = _table(
    "corrections",
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("version", Whole, nullable=False, comment="of the texts after the correction"),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
    Column("by", Words, nullable=False, comment="account or user; empty if not recorded"),
    Column("reason", LongWords, nullable=False, comment="empty if not recorded"),
    Column("changes", Shaped(list[dict[str, Any]]), nullable=False, comment="texts of pages"),
)

recruitments: sa.Table = _table(
    "recruitments",
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Choice("open", "paused", "closed"), nullable=False),
    Column("keep_until", Moment, comment="when data is to be deleted; null for never"),
    Column("changed", Moment, nullable=False, comment="seconds since 1970"),
    Column("suspended", Moment, comment="since when all are paused; null if they are not"),
)

calls: sa.Table = _table(
    "calls",
    Column("id", Integer, primary_key=True),
    Column("match_id", Words, nullable=False),
    Column("request", Whole, nullable=False),
    Column("actor", Words, nullable=False),
    Column("attempt", Whole, nullable=False, comment="the call's index in the answer"),
    Column("try", Whole, nullable=False, comment="counts attempts to send the call"),
    Column("state", Choice(*CALL_STATES), nullable=False, comment="state of the attempt"),
    Column("call", Shaped(RecordedCall), nullable=False),
    Column("reply", Shaped(RecordedReply | None)),
    Column("sent", Moment, nullable=False),
    Column("received", Moment),
    Column("batch", Whole, comment="its batch, if any"),
    Column("study_id", Whole, comment="the study that sent it"),
    sa.UniqueConstraint("match_id", "request", "actor", "attempt", "try"),
)

batches: sa.Table = _table(
    "batches",
    Column("id", Integer, primary_key=True),
    Column("model", Words, nullable=False, comment="the model string of all its calls"),
    Column("tag", Words, nullable=False, comment="unique tag, stored by the provider"),
    Column("name", Words, comment="the provider's name; null until submitted"),
    Column("state", Choice(*BATCH_STATES), nullable=False, comment="state of the batch"),
    Column("calls", Whole, nullable=False, comment="planned number of calls"),
    Column("planned", Moment, nullable=False, comment="seconds since 1970"),
    Column("submitted", Moment),
    Column("collected", Moment),
)

judges: sa.Table = _table(
    "judges",
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column("spec", Shaped(RecordedJudge), nullable=False, comment="rubric, model and all settings"),
)

judgements: sa.Table = _table(
    "judgements",
    Column("id", Integer, primary_key=True),
    Column("match_id", Words, nullable=False),
    Column("judge", Words, nullable=False, comment="the judge's digest"),
    Column("item", Words, nullable=False, comment="an answer, an actor or the match"),
    Column("kind", Choice(*Kind), nullable=False, comment="kind of the judge's answer"),
    Column("verdict", Shaped(dict[str, Any] | None)),
    Column("calls", Shaped(list[MadeCall]), nullable=False, comment="calls with responses"),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
    Column("study_id", Whole, comment="the study for which it was made"),
    sa.UniqueConstraint("match_id", "judge", "item"),
)

UNFINISHED = matches.c.status != sa.literal_column(f"'{Status.FINISHED.value}'")
"""Condition for unfinished matches, written so that databases use the index."""

Index("matches_by_configuration", matches.c.configuration_id)
Index("matches_unfinished", matches.c.status, sqlite_where=UNFINISHED, postgresql_where=UNFINISHED)
Index("participants_by_study", participants.c.study_id)
Index("plays_by_match", plays.c.match_id)
Index("payments_by_study", payments.c.study_id)
Index("corrections_by_study", corrections.c.study_id)


def upsert(table: sa.Table, keys: Sequence[str], update: Iterable[str]) -> Insert:
    """Return a statement that inserts rows, or updates the given columns if the keys exist."""
    new = insert(table)
    set_ = {name: new.excluded[name] for name in update}
    return new.on_conflict_do_update(index_elements=keys, set_=set_)
