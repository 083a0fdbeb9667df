"""Corrections of texts of studies that already have participants."""

from __future__ import annotations

import getpass

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import opened
from cheaptalk.cli.shared.printing import say
from cheaptalk.cli.shared.sentences import counted


def apply_corrections(study: ct.Study, store: str, reason: str | None) -> None:
    """Record changed texts of a study with participants, and print them.

    Raises:
        StudyError: a rule has changed, or texts have changed and no reason was given.
    """
    with opened(store) as existing:
        found = None if existing is None else ct.studies.changes_since(existing, study)
        if existing is None or found is None:
            return
        if found.rule:
            raise ct.studies.StudyError(f"{study.name}: {found.rule}")
        for change in found.texts:
            language = f" ({change.language})" if change.language else ""
            say(f"{change.text}{language}:")
            for sign, text in (("-", change.before), ("+", change.after)):
                if text is not None:
                    say(f"  {sign} {_short(text)}", wrap=False)
        if found.texts and not reason:
            texts = counted(len(found.texts), "text")
            raise ct.studies.StudyError(
                f"{study.name}: the study has participants, and {texts} differ from those that "
                'they have read; to correct them, add --reason "WHY"'
            )
        if found.texts:
            with existing.writing():
                version = ct.studies.record_correction(existing, study, _user(), reason or "")
            say(f"Texts corrected (version {version})")


def _short(text: str) -> str:
    """Return a text on one line, and only the start of an image."""
    return f"{text[:40]}..." if text.startswith("data:") else " ".join(text.split())


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user has no name
        return ""
