"""Definition, planning and running of studies: games x instances x seatings x repeats."""

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import Budget, Cap, Halted, amount_text
from cheaptalk.calls.cache import CacheUse
from cheaptalk.calls.commands import (
    ControlError,
    RateLimiterState,
    RunState,
    check_free,
    control_run,
    watch,
)
from cheaptalk.calls.control import STOPPED
from cheaptalk.calls.event_loop import INTERRUPTED
from cheaptalk.cluster import check_address
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.records.record import SETTLED
from cheaptalk.rules.arguments import check_functions
from cheaptalk.studies.estimates.amounts import Amounts, Range
from cheaptalk.studies.estimates.estimate import (
    UNITS,
    Estimate,
    Forecast,
    budget_text,
    doubts,
    estimate,
    forecast,
    shortfalls,
)
from cheaptalk.studies.estimates.participants import ParticipantPreview, preview_participants
from cheaptalk.studies.estimates.usage_history import UsageHistories, usage_histories
from cheaptalk.studies.lookup import stored_study, with_players
from cheaptalk.studies.people.steps import QUIZZES
from cheaptalk.studies.plans.matches import (
    Configuration,
    PlannedInstance,
    PlannedMatch,
    PlannedMatches,
)
from cheaptalk.studies.plans.parts import part
from cheaptalk.studies.plans.plan import (
    Plan,
    PlanLike,
    StudyChanges,
    changes,
    lay_out,
    plan,
    planned_count,
)
from cheaptalk.studies.plans.seating import Seated
from cheaptalk.studies.presets import StudySource, preset, preset_names, preset_text, study_of
from cheaptalk.studies.runs.checks import (
    Checked,
    check,
    check_batchable,
    check_prices,
    missing,
    try_strategies,
)
from cheaptalk.studies.runs.host import Host, RunObserver, open_host
from cheaptalk.studies.runs.progress import Progress
from cheaptalk.studies.runs.run import run, run_async
from cheaptalk.studies.status import StudyStatus, statuses, study_status
from cheaptalk.studies.study import (
    FILES,
    GameGrid,
    Sample,
    Study,
    StudyError,
    load_study,
    parse_study,
)
from cheaptalk.text import money

__all__ = ["FILES", "INTERRUPTED", "QUIZZES", "SETTLED", "STOPPED", "UNITS", "Amounts", "Batching"]
__all__ += ["Budget", "CacheUse", "Cap", "Checked", "Configuration", "ControlError", "Estimate"]
__all__ += ["Forecast", "GameGrid", "Halted", "Host", "ParticipantPreview", "Plan", "PlanLike"]
__all__ += ["PlannedInstance", "PlannedMatch", "PlannedMatches", "Progress", "Range"]
__all__ += ["RateLimiterState", "RunObserver", "RunState", "Sample", "Seated", "Study"]
__all__ += [
    "StudyChanges",
    "StudyError",
    "StudySource",
    "StudyStatus",
    "Unanswered",
    "UsageHistories",
]
__all__ += ["UsageHistories", "amount_text", "budget_text", "changes", "check", "check_address"]
__all__ += [
    "check_batchable",
    "check_free",
    "check_prices",
    "control_run",
    "doubts",
    "estimate",
    "forecast",
]
__all__ += ["lay_out", "load_study", "missing", "money", "open_host", "parse_study", "part", "plan"]
__all__ += ["planned_count", "preset", "preset_names", "preset_text", "preview_participants", "run"]
__all__ += ["run_async", "shortfalls", "statuses", "stored_study", "study_of", "study_status"]
__all__ += ["try_strategies", "usage_histories", "watch", "with_players"]

check_functions(globals())
