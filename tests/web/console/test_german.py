"""The German console: every text of every page is in a catalogue, except data."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from cheaptalk.rules import get_game
from cheaptalk.studies.people.steps import STEPS
from cheaptalk.studies.presets import preset_names
from cheaptalk.styles.languages import Translations
from cheaptalk.web.console import authentication
from cheaptalk.web.console.designs import study_form_page
from cheaptalk.web.console.sentences import sentences
from tests.played import EVIL
from tests.web.console.populated import populated

PLACEHOLDER = re.compile(r"(%\(\w+\)s|\{\d\}|%%)")
MARKED = re.compile("⟦[^⟦⟧]*⟧")
HIDDEN = re.compile(
    r"<(script|style|textarea|code|pre|datalist|title)\b.*?</\1>"
    r"|<option value=\"([^\"]*)\"[^>]*>\2</option>|<!--.*?-->",
    re.DOTALL,
)
"""Elements that contain code or data."""
SHOWN = re.compile(r'(?:aria-label|placeholder|title|alt|data-what|data-done)="([^"]*)"')
TAG = re.compile("<[^>]*>", re.DOTALL)
WORD = re.compile(r"[^\W\d_]{2,}")
TEXTS = (
    EVIL,
    "The question that this study answers.",
    "Please continue.",
    "We play.",
    "Before, between or during, or {when: before, seconds: 60}, or null",
    "Are you there? Type the word “here”.",
    "openai/gpt-4o",
    "out of order",
    "age: How old are you?",
    "feedback: Why?",
    "sum: What is 1 + 1?",
)
"""Texts of the studies and of models."""
VALUE = re.compile(
    r"https://\S+|\d+\. [A-Z][a-zä]+ \d{4}"
    r"|\bUTC\b|\b[0-9a-f]{16,20}\b|\S+\.(?:jsonl?|html|sqlite)\b"
    r"|\w+Error\b|/console\S*|" + "|".join(map(re.escape, TEXTS))
)
"""Dates, keys, files, types of errors and texts of the studies."""
NAMES = """ada agreed age alice all ann ben bob bot broken cheaptalk damaged deep Deutsch doctor
    draft drop English Español evil failed failures fair feedback finished firm forfeited Français
    Instances instances invalid keep live many mute north of open owner people running south sqlite
    status store sum tiny USD words here YAML PROLIFIC PID
"""
"""Names of the laboratory's studies, players, accounts and settings."""
DATA = {
    *NAMES.split(),
    *WORD.findall(" ".join([*preset_names(), *STEPS])),
    *WORD.findall(" ".join(get_game("bargaining").strategies).replace("_", " ")),
    *WORD.findall(" ".join(name for step in STEPS.values() for name in step.model_fields)),
}


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Mark all translated texts, but not the values in them."""

    def mark(text: str) -> str:
        return "⟦" + PLACEHOLDER.sub(r"⟧\1⟦", text) + "⟧" if text else ""

    def gettext(translations: Translations, message: str) -> str:
        known = message in translations._catalog  # type: ignore[attr-defined]
        return mark(original(translations, message)) if known else message

    original, several = Translations.gettext, Translations.ngettext
    monkeypatch.setattr(Translations, "gettext", gettext)
    monkeypatch.setattr(Translations, "ngettext", lambda *parts: mark(several(*parts)))
    caches = (authentication._templates, study_form_page._templates, sentences)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def unmarked(page: str) -> set[str]:
    """Return the words of a page that are in no catalogue and no data."""
    body = MARKED.sub(" ", HIDDEN.sub(" ", page.partition("<body")[2]))
    texts = map(unescape, [*SHOWN.findall(body), *TAG.split(body)[1:]])
    left = (VALUE.sub("", text) for text in texts)
    return {" ".join(text.split()) for text in left if {*WORD.findall(text)} - DATA}


@pytest.mark.usefixtures("marked")
async def test_every_text_of_every_page_is_translated(tmp_path: Path) -> None:
    problems: dict[str, set[str]] = {}
    async with populated(tmp_path) as lab:
        lab.client.headers["Accept-Language"] = "de"
        await lab.log_in()
        async for path, page in lab.pages():
            if "/transcripts" not in path:
                problems[path] = unmarked(page)
    assert not any(problems.values()), "\n".join(
        f"{path}: {text}" for path, texts in problems.items() for text in sorted(texts)
    )
