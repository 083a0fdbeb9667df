"""A study is data: games x deals x seatings x repeats; plan it, run it, resume it."""

from cheaptalk.studies.planning import Configuration, Dealt, Plan, PlannedMatch, plan
from cheaptalk.studies.preparing import SETTLED, check_seats, lay_out
from cheaptalk.studies.presets import preset, preset_names, preset_text
from cheaptalk.studies.purse import Halted
from cheaptalk.studies.running import INTERRUPTED, Progress, run
from cheaptalk.studies.seating import Seated
from cheaptalk.studies.spec import (
    Budget,
    GameGrid,
    Sample,
    Study,
    StudyError,
    load_study,
    parse_study,
)

__all__ = [
    "INTERRUPTED", "SETTLED", "Budget", "Configuration", "Dealt", "GameGrid", "Halted", "Plan",
    "PlannedMatch", "Progress", "Sample", "Seated", "Study", "StudyError", "check_seats",
    "lay_out", "load_study", "parse_study", "plan", "preset", "preset_names", "preset_text",
    "run",
]  # fmt: skip
