"""Definition, planning and running of studies: games x instances x seatings x repeats.

>>> ct.studies.estimate(ct.plan("examples/studies/model-against-scripts.yaml"))
<Estimate: 27 matches with models: 88 to 159 calls, ... tokens, $0.00>
"""

from cheaptalk.calls.batches import Batching
from cheaptalk.calls.budget import Budget, Cap, Halted, amount_text
from cheaptalk.calls.cache import CacheUse
from cheaptalk.calls.commands import (
    ControlError,
    RateLimiterState,
    RunState,
    check_free,
    control_run,
    run_state,
)
from cheaptalk.calls.control import STOPPED
from cheaptalk.calls.event_loop import INTERRUPTED
from cheaptalk.cluster import check_address
from cheaptalk.records.exclusions import Unanswered
from cheaptalk.records.record import SETTLED
from cheaptalk.rules.arguments import check_functions
from cheaptalk.studies.corrections import changes_since, record_correction
from cheaptalk.studies.estimates.amounts import Amounts, Range
from cheaptalk.studies.estimates.estimate import (
    UNITS,
    Estimate,
    Forecast,
    budget_text,
    budget_warnings,
    estimate,
    forecast,
    limit_warnings,
)
from cheaptalk.studies.estimates.participants import ParticipantPreview, preview_participants
from cheaptalk.studies.estimates.payments import PaymentForecast, payment_forecast
from cheaptalk.studies.estimates.usage_history import UsageHistories, usage_histories
from cheaptalk.studies.factors import crossed_entries
from cheaptalk.studies.lookup import new_labels, stored_study, with_players
from cheaptalk.studies.match import Match
from cheaptalk.studies.people.steps import QUIZZES, correct_answers
from cheaptalk.studies.plans.matches import (
    Configuration,
    PlannedInstance,
    PlannedMatch,
    PlannedMatches,
)
from cheaptalk.studies.plans.parts import (
    has_people,
    playable,
    restrict_plan,
    without_models,
    without_people,
)
from cheaptalk.studies.plans.plan import (
    Plan,
    PlanLike,
    StudyChanges,
    changes,
    plan,
    plan_in_store,
    planned_count,
)
from cheaptalk.studies.plans.seating import SeatedPlayer
from cheaptalk.studies.presets import StudySource, preset, preset_names, preset_text, study_of
from cheaptalk.studies.runs.checks import (
    Checked,
    Requirement,
    RetiredModel,
    check,
    check_batchable,
    check_prices,
    missing_requirements,
    retired_models,
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
__all__ += ["Forecast", "GameGrid", "Halted", "Host", "Match", "ParticipantPreview", "Plan"]
__all__ += ["PlanLike", "PlannedInstance", "PlannedMatch", "PlannedMatches", "Progress", "Range"]
__all__ += ["RateLimiterState", "Requirement", "RetiredModel", "RunObserver", "RunState", "Sample"]
__all__ += ["PaymentForecast", "SeatedPlayer", "Study"]
__all__ += ["StudyChanges", "StudyError", "StudySource", "StudyStatus", "Unanswered"]
__all__ += ["UsageHistories", "amount_text", "budget_text", "budget_warnings", "changes", "check"]
__all__ += ["check_address", "check_batchable", "check_free", "check_prices", "control_run"]
__all__ += ["changes_since", "correct_answers", "crossed_entries", "record_correction"]
__all__ += ["estimate", "forecast", "limit_warnings", "load_study", "missing_requirements", "money"]
__all__ += [
    "new_labels",
    "open_host",
    "parse_study",
    "payment_forecast",
    "plan",
    "plan_in_store",
    "planned_count",
    "preset",
]
__all__ += [
    "preset_names",
    "preset_text",
    "preview_participants",
    "restrict_plan",
    "retired_models",
    "run",
    "run_async",
]
__all__ += ["run_state", "statuses", "stored_study", "study_of", "study_status"]
__all__ += ["try_strategies", "usage_histories", "with_players"]
__all__ += ["has_people", "playable", "without_models", "without_people"]

check_functions(globals())
