"""The record: what was asked and answered, kept so that nothing is lost."""

from cheaptalk.records.errors import StoreError
from cheaptalk.records.identity import configuration_digest, digest, digest_key, player_digest
from cheaptalk.records.lineup import FEW, line_up, query_of, runs
from cheaptalk.records.packing import pack, text_of, unpack
from cheaptalk.records.reading import StudySummary
from cheaptalk.records.record import (
    AnswerRecord,
    Ended,
    MatchRecord,
    OtherVersion,
    Status,
    ended,
    game_of,
    scripted_answers,
)
from cheaptalk.records.store import NewMatch, Store
from cheaptalk.records.transcript import Line, Scene, gathered, transcript

__all__ = [
    "FEW", "AnswerRecord", "Ended", "Line", "MatchRecord", "NewMatch", "OtherVersion", "Scene",
    "Status", "Store", "StoreError", "StudySummary", "configuration_digest", "digest",
    "digest_key", "ended", "game_of", "gathered", "line_up", "pack", "player_digest", "query_of",
    "runs", "scripted_answers", "text_of", "transcript", "unpack",
]  # fmt: skip
