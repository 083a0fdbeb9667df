from .cache import Cache, CacheError, Replicate, Request, differences, nearest
from .costs import Cost
from .encoding import pack, text_of, unpack
from .exclusions import Excluded, Unanswered, excluded, policies_of, predecessors
from .forfeits import Forfeit
from .identity import configuration_digest, digest, digest_key, player_digest
from .integrity import Hurt, Integrity, examine
from .ledger.batches import BatchSummary, all_batches, waiting_batches
from .ledger.spending import answered, costs_by_player, paid_by_others, study_cost
from .lineup import FEW, line_up, query_of, runs
from .record import (
    AnswerRecord,
    Ended,
    MatchRecord,
    OtherVersion,
    Status,
    ended,
    game_of,
    scripted_answers,
)
from .store.backend import NoStore, StoreError, StoreHeld
from .store.reader import StudySummary
from .store.store import NewMatch, Store
from .transcripts import Line, Scene, SeatView, gathered, seat_view, transcript

__all__ = [
    "FEW",
    "AnswerRecord",
    "BatchSummary",
    "Cache",
    "CacheError",
    "Cost",
    "Ended",
    "Excluded",
    "Forfeit",
    "Hurt",
    "Integrity",
    "Line",
    "MatchRecord",
    "NewMatch",
    "NoStore",
    "OtherVersion",
    "Replicate",
    "Request",
    "Scene",
    "SeatView",
    "Status",
    "Store",
    "StoreError",
    "StoreHeld",
    "StudySummary",
    "Unanswered",
    "all_batches",
    "answered",
    "configuration_digest",
    "costs_by_player",
    "differences",
    "digest",
    "digest_key",
    "ended",
    "examine",
    "excluded",
    "game_of",
    "gathered",
    "line_up",
    "nearest",
    "pack",
    "paid_by_others",
    "player_digest",
    "policies_of",
    "predecessors",
    "query_of",
    "runs",
    "scripted_answers",
    "seat_view",
    "study_cost",
    "text_of",
    "transcript",
    "unpack",
    "waiting_batches",
]
