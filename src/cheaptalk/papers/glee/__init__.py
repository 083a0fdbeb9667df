"""GLEE (Shapira et al. 2024): bargaining, negotiation and persuasion."""

from pathlib import Path

from cheaptalk.papers.glee.human_study import glee_human
from cheaptalk.studies.presets import Preset
from cheaptalk.studies.study import Study, load_study
from cheaptalk.yaml_files import yaml_files

HERE = Path(__file__).parent


def glee_small() -> Study:
    """The preset ``glee`` with three matches of each configuration."""
    small = {
        "name": "glee-small",
        "description": "The configurations of GLEE with 3 matches each, to be reported in seconds.",
        "pairing": {"sample": 3_960},
    }
    whole = load_study(HERE / "presets" / "glee.yaml").model_dump(mode="json", exclude_unset=True)
    return Study.model_validate(whole | small)


PRESETS: dict[str, Preset] = {
    **yaml_files(HERE / "presets"), "glee-human": glee_human, "glee-small": glee_small,
}  # fmt: skip
ROSTERS = yaml_files(HERE / "rosters")
