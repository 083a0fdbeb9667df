"""Presets: named studies that this package or another package includes."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import yaml

from cheaptalk.names import PresetName
from cheaptalk.rules import suggest
from cheaptalk.rules.arguments import describe_type
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry, is_function, several
from cheaptalk.studies.study import FILES, Study, StudyError, load_study
from cheaptalk.yaml_files import yaml_files

Preset: TypeAlias = Path | Callable[[], Study]
"""A study file, or a function that returns a study."""
PRESETS: Registry[Preset] = Registry(
    "preset", "cheaptalk.presets", lambda item: isinstance(item, Path) or is_function(item), several
)
"""All presets; an entry point refers to a mapping from names to presets."""
OURS: dict[str, Preset] = {
    "quickstart": Path(__file__).parent / "quickstart.yaml",
    **yaml_files(__file__, "classics"),
}
"""Presets that do not reproduce a paper."""


StudySource: TypeAlias = Study | Path | PresetName
"""A study to run: a study, its file or a preset's name."""
describe_type(StudySource, "a study, its file or a preset's name")


def preset_names() -> list[str]:
    """Return the names of all presets."""
    return sorted(PRESETS)


def preset(name: PresetName) -> Study:
    """Return a preset by name; raise :class:`UnknownName` if no preset has this name.

    >>> ct.preset("glee-small")
    <Study: glee-small, 3 games, 9 players>
    """
    entry = PRESETS.find(name)
    return load_study(entry) if isinstance(entry, Path) else entry()


def study_of(named: StudySource) -> Study:
    """Return a study given as an object, a preset's name or a study file.

    Raises:
        StudyError: the preset or file does not exist or is invalid.
    """
    match named:
        case Study():
            return named
        case str() if not named.endswith(FILES) and named in PRESETS:
            return preset(named)
        case str() if not named.endswith(FILES) and not Path(named).is_file():
            raise StudyError(f"no study file or preset {suggest(named, preset_names())}")
        case str() | Path():
            return load_study(named)
    raise StudyError(f"expected a study, a preset's name or a study file, not {shown(named)}")


def preset_text(name: PresetName) -> str:
    """Return a preset as the text of a study file, as a starting point for another study.

    Raises:
        UnknownName: there is no preset with this name.
    """
    entry = PRESETS.find(name)
    if isinstance(entry, Path):
        text = entry.read_text(encoding="utf-8")
    else:
        data = entry().model_dump(mode="json", exclude_defaults=True)
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    return f'# The preset "{name}": change the name in your copy.\n{text}'
