"""A study is data: games x deals x seatings x repeats; plan it, run it, resume it."""

from cheaptalk.studies.planning import Configuration, Dealt, Plan, PlannedMatch, Seated, plan
from cheaptalk.studies.presets import preset, preset_names
from cheaptalk.studies.running import SETTLED, Progress, check_seats, lay_out, run
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
    "SETTLED", "Budget", "Configuration", "Dealt", "GameGrid", "Plan", "PlannedMatch", "Progress",
    "Sample", "Seated", "Study", "StudyError", "check_seats", "lay_out", "load_study",
    "parse_study", "plan", "preset", "preset_names", "run",
]  # fmt: skip
