"""The record: what was asked and answered, kept so that nothing is lost."""

from cheaptalk.records.record import (
    AnswerRecord,
    Ended,
    MatchRecord,
    OtherVersion,
    Status,
    ended,
    game_of,
    pack,
    scripted_answers,
    unpack,
)
from cheaptalk.records.store import NewMatch, Store, StoreError, StudySummary, digest_key

__all__ = [
    "AnswerRecord", "Ended", "MatchRecord", "NewMatch", "OtherVersion", "Status", "Store",
    "StoreError", "StudySummary", "digest_key", "ended", "game_of", "pack", "scripted_answers",
    "unpack",
]  # fmt: skip
