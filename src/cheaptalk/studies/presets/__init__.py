"""The studies that come with the package: YAML files, and those that follow from a rule."""

from pathlib import Path

import yaml

from cheaptalk.studies.presets.glee_human import glee_human
from cheaptalk.studies.spec import Study, load_study


def glee_small() -> Study:
    """The preset ``glee`` with three matches of each configuration."""
    small = {
        "name": "glee-small",
        "description": "The configurations of GLEE with 3 matches each, to be reported in seconds.",
        "pairing": {"sample": 3_960},
    }
    whole = load_study(_file("glee")).model_dump(mode="json", exclude_unset=True)
    return Study.model_validate(whole | small)


RULED = {"glee-human": glee_human, "glee-small": glee_small}
"""Presets that are computed."""


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted([path.stem for path in Path(__file__).parent.glob("*.yaml")] + list(RULED))


def preset(name: str) -> Study | None:
    """A preset by name, or None if there is none."""
    if name in RULED:
        return RULED[name]()
    return load_study(_file(name)) if name in preset_names() else None


def preset_text(name: str) -> str:
    """A preset as a study file, to be changed and played under another name."""
    if name in RULED:
        data = RULED[name]().model_dump(mode="json", exclude_defaults=True)
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    else:
        text = _file(name).read_text(encoding="utf-8")
    return f'# The preset "{name}": give your copy a name of its own.\n{text}'


def _file(name: str) -> Path:
    return Path(__file__).parent / f"{name}.yaml"
