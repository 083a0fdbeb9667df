"""The tables of the store. The migrations in ``migrations/`` lead to them; a test compares."""

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import insert as insert  # a part of what is given away

from cheaptalk.players import Kind
from cheaptalk.records.record import Status
from cheaptalk.records.shapes import Finite, MadeCall, RecordedCall, RecordedJudge, RecordedReply
from cheaptalk.records.store.column_types import (
    Choice,
    LongWords,
    Moment,
    Number,
    Shaped,
    Whole,
    Words,
)

REVISION = "0011"
"""The newest migration; a store of a later one is refused."""

CALL_STATES = ("sent", "answered", "failed", "unresolved")
BATCH_STATES = ("planned", "submitted", "collected")
ENDINGS = (
    "complete", "declined", "screened_out", "failed_attention", "timed_out", "partner_left",
    "technical", "removed", "withdrawn",
)  # fmt: skip
"""How a participant's visit ends."""
PLAY_STATES = (
    "assigned", "playing", "finished", "left", "partner_left", "timed_out", "technical", "erased",
)  # fmt: skip
"""What becomes of a participant's game; ``technical`` is an error that is not play."""

metadata = MetaData()

studies: Table = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Words, nullable=False, unique=True),
    Column("spec", Shaped(dict[str, Any]), nullable=False, comment="the study as written"),
    Column("package", Words, nullable=False, comment="the version that registered it"),
    Column("created", Moment, nullable=False, comment="seconds since 1970"),
    Column(
        "halted", LongWords, comment="why its last run stopped before its end; null if it did not"
    ),
    Column("planned", Whole, comment="matches of its plan; null where no run has counted them"),
    Column("digest", Words, comment="hash of its name and text; null where nobody took it"),
    Column(
        "expected",
        Whole,
        comment="matches that it has at least once its last run ends; null before any run",
    ),
)

configurations: Table = Table(
    "configurations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column("game", Words, nullable=False),
    Column("version", Whole, nullable=False, comment="of the rules"),
    Column("parameters", Shaped(dict[str, Any]), nullable=False),
)

players: Table = Table(
    "players",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column(
        "spec", Shaped(dict[str, Any]), nullable=False, comment="all settings that make the player"
    ),
)

rosters: Table = Table(
    "rosters",
    metadata,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("player_id", Integer, ForeignKey("players.id"), primary_key=True),
    Column("label", Words, nullable=False, comment="what the study calls the player"),
    Column("digest", Words, comment="hash of this row; null where nobody took it"),
)

SEATS = Shaped(dict[str, int])
matches: Table = Table(
    "matches",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Words, nullable=False, unique=True, comment="hash of all that defines it"),
    Column("configuration_id", Integer, ForeignKey("configurations.id"), nullable=False),
    Column("deal", Words, nullable=False, comment="equal for matches that share a deal"),
    Column("repeat", Integer, nullable=False),
    Column("seats", SEATS, nullable=False, comment="player id by place"),
    Column("status", Choice(*Status), nullable=False),
    Column("reason", LongWords, comment="why it failed or who forfeited"),
    Column("outcome", Shaped(dict[str, Any] | None)),
    Column("payoffs", Shaped(dict[str, Finite] | None), comment="by place, in the game's unit"),
    Column("kinds", Shaped(dict[str, dict[Kind, int]] | None), comment="answers by kind, by place"),
    Column("calls", Integer, nullable=False, default=0),
    Column("input_tokens", Integer, nullable=False, default=0),
    Column("output_tokens", Integer, nullable=False, default=0),
    Column("finished", Moment, comment="seconds since 1970"),
    Column("body", LargeBinary, comment="seed, deal and answers: zlib-compressed JSON"),
    Column("cached_tokens", Integer, comment="of the input; null where nobody counted"),
    Column("reasoning_tokens", Integer, comment="of the output; null where nobody counted"),
    Column("dollars", Float, comment="at the prices of the time, as far as these were known"),
    Column("unpriced", Integer, comment="calls of unknown price; null where nobody counted"),
    Column("uncounted", Integer, comment="calls of unknown tokens; null where nobody counted"),
    Column("begun", Moment, comment="seconds since 1970; null where nobody noted it"),
    Column("implausible", Integer, comment="calls whose tokens as reported cannot be true"),
)

SEATS_TEXT = cast(matches.c.seats, String)
"""Who sat where as text, which is grouped by anywhere, and which ``SEATS`` reads."""
LAST_NUMBER = select(func.coalesce(func.max(matches.c.number), 0)).scalar_subquery()
"""The number of the match that was stored last."""

members: Table = Table(
    "members",
    metadata,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("match_number", Integer, ForeignKey("matches.number"), primary_key=True),
    Column(
        "current",
        Boolean,
        nullable=False,
        server_default="1",
        comment="false where the study as it now stands has no such match",
    ),
    sqlite_with_rowid=False,
)

purchases: Table = Table(
    "purchases",
    metadata,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("match_number", Integer, ForeignKey("matches.number"), primary_key=True),
    Column("calls", Whole, nullable=False, comment="in the record of the match, of this study's"),
    Column("input_tokens", Whole, nullable=False),
    Column("output_tokens", Whole, nullable=False),
    Column("cached_tokens", Whole, nullable=False),
    Column("reasoning_tokens", Whole, nullable=False),
    Column("dollars", Number, nullable=False),
    Column("unpriced", Whole, nullable=False),
    Column("uncounted", Whole, nullable=False),
    Column("implausible", Whole, nullable=False),
)

rooms: Table = Table(
    "rooms",
    metadata,
    Column("code", Words, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("kept", Shaped(dict[str, Any]), nullable=False, comment="who came, and how far it is"),
    Column("changed", Moment, nullable=False, comment="seconds since 1970"),
)


def _of_participant() -> Column[int]:
    """The participant of a row, which is told apart by a number and goes with them."""
    key = ForeignKey("participants.id", ondelete="CASCADE")
    return Column("participant_id", Integer, key, primary_key=True)


participants: Table = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("code", Words, nullable=False, unique=True, comment="who it is, by no other name"),
    Column("cohort", Words, nullable=False, comment="those of different cohorts never meet"),
    Column("step", Words, nullable=False, comment="where on the path they are"),
    Column("visit", Whole, nullable=False, comment="how often they came, from 1"),
    Column("ending", Choice(*ENDINGS), comment="how their last visit ended; null while it goes on"),
    Column("known_as", Words, comment="the name that they chose for the table; null for none"),
    Column("language", Words, comment="that they read"),
    Column("flags", Shaped(list[str]), nullable=False, comment="what was noticed of them"),
    Column("begun", Moment, nullable=False, comment="seconds since 1970"),
    Column("changed", Moment, nullable=False, comment="when they last went on"),
)

responses: Table = Table(
    "responses",
    metadata,
    _of_participant(),
    Column("number", Whole, primary_key=True, comment="counts what they answered, from 0"),
    Column("step", Words, nullable=False, comment="of the path"),
    Column("visit", Whole, nullable=False),
    Column("game", Whole, nullable=False, comment="the number of the game before or at it"),
    Column("answer", Shaped(dict[str, Any]), nullable=False, comment="by item"),
    Column("right", Boolean, comment="whether it is what was wanted; null where nothing was"),
    Column("shown", Moment, comment="seconds since 1970; null where nobody noted it"),
    Column("answered", Moment, nullable=False),
    sqlite_with_rowid=False,
)

plays: Table = Table(
    "plays",
    metadata,
    _of_participant(),
    Column("number", Whole, primary_key=True, comment="counts a participant's games, from 1"),
    Column("treatment", Words, nullable=False, comment="the table that they were assigned to"),
    Column("game", Words, nullable=False),
    Column("room", Words, comment="null where none was found"),
    Column("match_id", Words, comment="null before it begins, and once it is erased"),
    Column("place", Words),
    Column("state", Choice(*PLAY_STATES), nullable=False, comment="what became of it"),
    Column("payoff", Number, comment="in the game's unit; null where it did not finish"),
    Column("cents", Whole, comment="what it earned; null before it ends"),
    Column("assigned", Moment, nullable=False, comment="seconds since 1970"),
    Column("ended", Moment),
    sqlite_with_rowid=False,
)

notices: Table = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True),
    Column(
        "participant_id", Integer, ForeignKey("participants.id", ondelete="CASCADE"), nullable=False
    ),
    Column("kind", Choice("message", "attention"), nullable=False),
    Column("text", LongWords, nullable=False),
    Column("wanted", Words, comment="what is to be answered; null where nothing is"),
    Column("sent", Moment, nullable=False, comment="seconds since 1970"),
    Column("due", Moment, comment="when an answer is too late; null for never"),
    Column("answered", Moment),
    Column("right", Boolean, comment="null while it is open, and of messages"),
)

payments: Table = Table(
    "payments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column(
        "participant_id",
        Integer,
        ForeignKey("participants.id", ondelete="SET NULL"),
        comment="null where they are deleted",
    ),
    Column("key", Words, nullable=False, comment="what it is for; nothing is paid twice"),
    Column("kind", Choice("base", "bonus"), nullable=False),
    Column("cents", Whole, nullable=False),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
    Column("payout_id", Integer, ForeignKey("payouts.id"), comment="null until it is paid out"),
    UniqueConstraint("participant_id", "key"),
)

payouts: Table = Table(
    "payouts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), nullable=False),
    Column("form", Words, nullable=False, comment="for whom its file is"),
    Column("by", Words, nullable=False, comment="the account that asked for it"),
    Column("people", Whole, nullable=False),
    Column("cents", Whole, nullable=False),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
)

recruitments: Table = Table(
    "recruitments",
    metadata,
    Column("study_id", Integer, ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("state", Choice("open", "paused", "closed"), nullable=False),
    Column("keep_until", Moment, comment="when people's data are to be deleted; null for never"),
    Column("changed", Moment, nullable=False, comment="seconds since 1970"),
)

calls: Table = Table(
    "calls",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("match_id", Words, nullable=False),
    Column("request", Whole, nullable=False),
    Column("seat", Words, nullable=False),
    Column("attempt", Whole, nullable=False, comment="the call's place within the answer"),
    Column("try", Whole, nullable=False, comment="counts sendings of the same call"),
    Column("state", Choice(*CALL_STATES), nullable=False, comment="what came of it so far"),
    Column("call", Shaped(RecordedCall), nullable=False),
    Column("reply", Shaped(RecordedReply | None)),
    Column("sent", Moment, nullable=False),
    Column("received", Moment),
    Column("batch", Whole, comment="the batch it is in, if any"),
    Column("study_id", Whole, comment="the study that sent it"),
    UniqueConstraint("match_id", "request", "seat", "attempt", "try"),
)

batches: Table = Table(
    "batches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("model", Words, nullable=False, comment="the model string of all its calls"),
    Column("tag", Words, nullable=False, comment="our word for it, which the provider keeps"),
    Column("name", Words, comment="what the provider calls it; null until submitted"),
    Column("state", Choice(*BATCH_STATES), nullable=False, comment="how far it is"),
    Column("calls", Whole, nullable=False, comment="how many it was planned with"),
    Column("planned", Moment, nullable=False, comment="seconds since 1970"),
    Column("submitted", Moment),
    Column("collected", Moment),
)

judges: Table = Table(
    "judges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Words, nullable=False, unique=True),
    Column("spec", Shaped(RecordedJudge), nullable=False, comment="rubric, model and all settings"),
)

judgements: Table = Table(
    "judgements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("match_id", Words, nullable=False),
    Column("judge", Words, nullable=False, comment="the judge's digest"),
    Column("item", Words, nullable=False, comment="a move, a seat or the match"),
    Column("kind", Choice(*Kind), nullable=False, comment="of the judge's answer"),
    Column("verdict", Shaped(dict[str, Any] | None)),
    Column("calls", Shaped(list[MadeCall]), nullable=False, comment="every call with its reply"),
    Column("made", Moment, nullable=False, comment="seconds since 1970"),
    Column("study_id", Whole, comment="the study for which it was made"),
    UniqueConstraint("match_id", "judge", "item"),
)

UNFINISHED = matches.c.status != literal_column(f"'{Status.FINISHED.value}'")
"""Matches that did not finish, which are few: written so that their index is found."""

Index("matches_by_configuration", matches.c.configuration_id)
Index("matches_unfinished", matches.c.status, sqlite_where=UNFINISHED, postgresql_where=UNFINISHED)
Index("participants_by_study", participants.c.study_id)
Index("plays_by_match", plays.c.match_id)
Index("payments_by_study", payments.c.study_id)
