"""The studies that come with the package: YAML files, and those that follow from a rule."""

from pathlib import Path

from cheaptalk.studies.presets.glee_human import glee_human
from cheaptalk.studies.spec import Study, load_study

RULED = {"glee-human": glee_human}
"""Presets that are computed."""


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted([path.stem for path in Path(__file__).parent.glob("*.yaml")] + list(RULED))


def preset(name: str) -> Study | None:
    """A preset by name, or None if there is none."""
    if name in RULED:
        return RULED[name]()
    path = Path(__file__).parent / f"{name}.yaml"
    return load_study(path) if name in preset_names() else None
