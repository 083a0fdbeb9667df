"""Presets: studies that come with the package, or with another one, by name."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import yaml

from cheaptalk.rules import suggest
from cheaptalk.rules.errors import shown
from cheaptalk.rules.registry import Registry, is_function, several
from cheaptalk.studies.study import FILES, Study, StudyError, load_study

Preset: TypeAlias = Path | Callable[[], Study]
"""A study file, or a function that makes the study."""


PRESETS: Registry[Preset] = Registry(
    "preset", "cheaptalk.presets", lambda one: isinstance(one, Path) or is_function(one), several
)
"""All presets; an entry point refers to a mapping of them by name."""
OURS: dict[str, Preset] = {"quickstart": Path(__file__).parent / "quickstart.yaml"}
"""Those that reproduce no paper."""


def preset_names() -> list[str]:
    """The names of all presets."""
    return sorted(PRESETS)


def preset(name: str) -> Study | None:
    """A preset by name, or None if there is none."""
    found = PRESETS.get(name)
    if found is None:
        return None
    return load_study(found) if isinstance(found, Path) else found()


def study_of(named: Study | Path | str) -> Study:
    """A study, or the one that a preset's name or a study file's stands for.

    Raises:
        StudyError: there is no such preset or file, or it is not legal.
    """
    match named:
        case Study():
            return named
        case str() if not named.endswith(FILES) and named in PRESETS:
            return preset(named) or load_study(named)
        case str() if not named.endswith(FILES) and not Path(named).is_file():
            raise StudyError(f"no study file or preset {suggest(named, preset_names())}")
        case str() | Path():
            return load_study(named)
    raise StudyError(f"a study, a preset's name or a study file is wanted, not {shown(named)}")


def preset_text(name: str) -> str:
    """A preset as a study file, to be changed and played under another name.

    Raises:
        UnknownName: there is none of this name.
    """
    found = PRESETS.find(name)
    if isinstance(found, Path):
        text = found.read_text(encoding="utf-8")
    else:
        data = found().model_dump(mode="json", exclude_defaults=True)
        text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100)
    return f'# The preset "{name}": give your copy a name of its own.\n{text}'
