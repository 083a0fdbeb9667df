"""The record: what was asked and answered, kept so that nothing is lost."""

from cheaptalk.records.cache import Cache, CacheError, Replicate, Request, differences, nearest
from cheaptalk.records.costs import Cost
from cheaptalk.records.encoding import pack, text_of, unpack
from cheaptalk.records.exclusions import Excluded, Unanswered, excluded, policies_of, predecessors
from cheaptalk.records.identity import configuration_digest, digest, digest_key, player_digest
from cheaptalk.records.ledger.batches import BatchSummary, all_batches, waiting_batches
from cheaptalk.records.ledger.spending import answered, costs_by_player, study_cost
from cheaptalk.records.lineup import FEW, line_up, query_of, runs
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
from cheaptalk.records.store.backend import StoreError
from cheaptalk.records.store.reader import StudySummary
from cheaptalk.records.store.store import NewMatch, Store
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
