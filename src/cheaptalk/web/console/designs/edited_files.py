"""Study files after changes in the study form, which keep everything that was not changed."""

from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from cheaptalk.rules import CheaptalkError
from cheaptalk.studies.study import Study
from cheaptalk.web.console.designs.study_form import FormReader, form_of, is_same_study
from cheaptalk.web.console.designs.yaml_edits import same, with_data
from cheaptalk.web.laboratory.library import with_contents
from cheaptalk.yaml_files import as_block, parse_yaml


def current_file(text: str, data: dict[str, Any], laboratory: Path | None = None) -> str:
    """Return a study file with a valid form's data, with as much as possible of an earlier text."""
    try:
        return edited_file(text, data, laboratory) if text.strip() else as_block(data)
    except (CheaptalkError, ValueError):  # the earlier text is not a study
        return as_block(data)


def edited_file(text: str, data: dict[str, Any], laboratory: Path | None = None) -> str:
    """Return a valid study file with the changes that a form's data contain.

    Comments, order and notation of all other values stay as they are; without changes, the result
    is ``text``.
    """
    written = parse_yaml(text)
    before = FormReader(form_of(written)).data
    merged = merge(written, before, data)
    study = Study.model_validate(with_contents(data, laboratory))
    try:
        kept = Study.model_validate(with_contents(merged, laboratory))
    except ValueError:
        return as_block(data)
    return with_data(text, merged) if is_same_study(kept, study) else as_block(data)


def merge(written: Any, before: Any, after: Any) -> Any:
    """Return data as written, with the changes between two normalised forms of it.

    >>> merge({"games": ["bargaining"]}, {"games": [{"game": "bargaining"}]},
    ...       {"games": [{"game": "bargaining"}], "seed": 2})
    {'games': ['bargaining'], 'seed': 2}
    """
    if same(before, after):
        return written
    if isinstance(written, dict) and isinstance(before, dict) and isinstance(after, dict):
        return _merged_mapping(written, before, after)
    if not (isinstance(written, list) and isinstance(before, list) and isinstance(after, list)):
        return after
    if len(written) != len(before):
        return after
    if len(before) == len(after):
        return [merge(*values) for values in zip(written, before, after, strict=True)]
    merged: list[Any] = []
    matcher = SequenceMatcher(None, [*map(repr, before)], [*map(repr, after)], autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        merged += written[first:last] if kind == "equal" else after[start:end]
    return merged


def _merged_mapping(
    written: dict[str, Any], before: dict[str, Any], after: dict[str, Any]
) -> dict[str, Any]:
    merged = {}
    for key, value in written.items():
        if key in before and key in after:
            merged[key] = merge(value, before[key], after[key])
        elif key in after:
            merged[key] = after[key]
        elif key not in before:
            merged[key] = value  # the form leaves it out, such as a default
    added = (key for key in after if key not in written)
    return merged | {
        key: after[key] for key in added if key not in before or not same(before[key], after[key])
    }
