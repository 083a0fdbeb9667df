from . import encoding as encoding
from . import imports as imports
from .cache import (
    Cache,
    CacheError,
    Explanation,
    Replicate,
    Request,
    explain_file,
    explain_match,
)
from .copies.archives import ArchivedFile, Manifest, archive, read_manifest, restore
from .copies.copying import copy_store
from .copies.pooling import pool
from .costs import Cost
from .descriptions import FEW, Forfeit, group_seats, line_up, viewer_query
from .encoding import pack, text_of, unpack
from .exclusions import (
    Excluded,
    Stand,
    Standing,
    Unanswered,
    count_excluded,
    policies_of,
    predecessors,
)
from .exports.chats import Chat, chats, read_chats
from .identity import configuration_digest, digest, digest_key, game_of, player_digest
from .imports import GameCollection, ImportedGame
from .integrity import Damage, Integrity, examine
from .judgements import judging_cost, ledger_place
from .ledger.batches import BatchSummary, all_batches, waiting_batches
from .ledger.spending import (
    costs_by_player,
    paid_by_others,
    reused_costs,
    study_cost,
    unassigned_cost,
)
from .people.identities import Identities
from .people.invitations import (
    ended_codes,
    invitations_of,
    invite,
    mail_merge,
    read_addresses,
)
from .record import (
    AnswerRecord,
    MatchEnd,
    MatchRecord,
    Status,
    VersionMismatch,
    match_end,
    scripted_answers,
)
from .selection import Condition, find_matches
from .store.backend import StoreError, StoreLocked, StoreNotFound, store_name
from .store.lookup import StoreLike, StudyLike
from .store.queries import ORDERS, games_in, labels_in, studies_of
from .store.reader import StudySummary
from .store.store import NewMatch, Store
from .transcripts import Line, Scene, SeatView, gather_scenes, seat_view, transcript

__all__ = [
    "FEW",
    "ORDERS",
    "AnswerRecord",
    "ArchivedFile",
    "BatchSummary",
    "Cache",
    "CacheError",
    "Chat",
    "Condition",
    "Cost",
    "Damage",
    "Excluded",
    "Explanation",
    "Forfeit",
    "GameCollection",
    "Identities",
    "ImportedGame",
    "Integrity",
    "Line",
    "Manifest",
    "MatchEnd",
    "MatchRecord",
    "NewMatch",
    "Replicate",
    "Request",
    "Scene",
    "SeatView",
    "Stand",
    "Standing",
    "Status",
    "Store",
    "StoreError",
    "StoreLike",
    "StoreLocked",
    "StoreNotFound",
    "StudyLike",
    "StudySummary",
    "Unanswered",
    "VersionMismatch",
    "all_batches",
    "archive",
    "chats",
    "configuration_digest",
    "copy_store",
    "costs_by_player",
    "count_excluded",
    "digest",
    "digest_key",
    "ended_codes",
    "examine",
    "explain_file",
    "explain_match",
    "find_matches",
    "game_of",
    "games_in",
    "gather_scenes",
    "group_seats",
    "invitations_of",
    "invite",
    "judging_cost",
    "labels_in",
    "ledger_place",
    "line_up",
    "mail_merge",
    "match_end",
    "pack",
    "paid_by_others",
    "player_digest",
    "policies_of",
    "pool",
    "predecessors",
    "read_addresses",
    "read_chats",
    "read_manifest",
    "restore",
    "reused_costs",
    "scripted_answers",
    "seat_view",
    "store_name",
    "studies_of",
    "study_cost",
    "text_of",
    "transcript",
    "unassigned_cost",
    "unpack",
    "viewer_query",
    "waiting_batches",
]  # fmt: skip
