"""A study is data: games x deals x seatings x repeats; plan it, run it, resume it."""

from cheaptalk.records.policies import Unanswered
from cheaptalk.studies.affording import UNITS, budget_text, doubts
from cheaptalk.studies.amounts import Amounts, Range, amount_text
from cheaptalk.studies.caching import CacheUse
from cheaptalk.studies.carrying import Batching
from cheaptalk.studies.driving import INTERRUPTED
from cheaptalk.studies.estimating import Estimate, estimate
from cheaptalk.studies.orders import LaneState, RunState, give_order, watch
from cheaptalk.studies.planning import Configuration, Dealt, Plan, PlannedMatch, plan
from cheaptalk.studies.preparing import SETTLED, check_prices, check_seats, lay_out
from cheaptalk.studies.presets import preset, preset_names, preset_text
from cheaptalk.studies.progress import Progress
from cheaptalk.studies.purse import Halted, money
from cheaptalk.studies.running import run
from cheaptalk.studies.seating import Seated
from cheaptalk.studies.spec import (
    Budget,
    Cap,
    GameGrid,
    Sample,
    Study,
    StudyError,
    load_study,
    parse_study,
)
from cheaptalk.studies.stations import check_batching, seed_of
from cheaptalk.studies.trying import try_strategies

__all__ = [
    "INTERRUPTED", "SETTLED", "UNITS", "Amounts", "Batching", "Budget", "CacheUse", "Cap",
    "Configuration", "Dealt", "Estimate", "GameGrid", "Halted", "LaneState", "Plan", "PlannedMatch",
    "Progress", "Range", "RunState", "Sample", "Seated", "Study", "StudyError", "Unanswered",
    "amount_text", "budget_text", "check_batching", "check_prices", "check_seats", "doubts",
    "estimate", "give_order", "lay_out", "load_study", "money", "parse_study", "plan", "preset",
    "preset_names", "preset_text", "run", "seed_of", "try_strategies", "watch",
]  # fmt: skip
