"""Replication of GLEE (Shapira et al. 2024): bargaining, negotiation and persuasion."""

import lazy_loader

from cheaptalk.papers.glee.human_study import glee_human
from cheaptalk.studies.presets import Preset
from cheaptalk.studies.study import Study, load_study
from cheaptalk.yaml_files import yaml_files

__getattr__, _, _ = lazy_loader.attach(__name__, ["outcomes"])
FILES = yaml_files(__file__, "presets")


def glee_small() -> Study:
    """Return the preset ``glee`` with three matches per configuration."""
    small = {
        "name": "glee-small",
        "description": "The 1,320 configurations of GLEE's Table 1 with three matches each.",
        "pairing": {"sample": 3_960},
    }
    study = load_study(FILES["glee"]).model_dump(mode="json", exclude_unset=True)
    return Study.model_validate(study | small)


PRESETS: dict[str, Preset] = {**FILES, "glee-human": glee_human, "glee-small": glee_small}
ROSTERS = yaml_files(__file__, "rosters")
