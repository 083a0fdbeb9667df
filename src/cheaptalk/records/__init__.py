"""The record: what was asked and answered, kept so that nothing is lost."""

from cheaptalk.records.batches import BatchSummary, all_batches, waiting_batches
from cheaptalk.records.cache import Cache, CacheError, Replicate, Request
from cheaptalk.records.costs import Cost
from cheaptalk.records.differing import differences, nearest
from cheaptalk.records.errors import StoreError
from cheaptalk.records.identity import configuration_digest, digest, digest_key, player_digest
from cheaptalk.records.lineup import FEW, line_up, query_of, runs
from cheaptalk.records.packing import pack, text_of, unpack
from cheaptalk.records.policies import Unanswered, policies_of
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
from cheaptalk.records.redeals import Excluded, excluded, predecessors
from cheaptalk.records.spending import answered, costs_by_player, study_cost
from cheaptalk.records.store import NewMatch, Store
from cheaptalk.records.transcript import Line, Scene, gathered, transcript

__all__ = [
    "FEW", "AnswerRecord", "BatchSummary", "Cache", "CacheError", "Cost", "Ended", "Excluded",
    "Line", "MatchRecord", "NewMatch", "OtherVersion", "Replicate", "Request", "Scene", "Status",
    "Store", "StoreError", "StudySummary", "Unanswered", "all_batches", "answered",
    "configuration_digest", "costs_by_player", "differences", "digest", "digest_key", "ended",
    "excluded", "game_of", "gathered", "line_up", "nearest", "pack", "player_digest", "policies_of",
    "predecessors", "query_of", "runs", "scripted_answers", "study_cost", "text_of", "transcript",
    "unpack", "waiting_batches",
]  # fmt: skip
