"""Bots' responses to the pages of an experiment."""

import re
from collections.abc import Mapping

from cheaptalk.rules.chance import Stream
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Form, Page

CODE_WORD = re.compile(r"only the word \W?(\S+?)\W? in\b")
PROMPTED = re.compile(r"\bthe word \W?(\w+)")
NAMES = ("Ada", "Emmy", "Grace", "Kurt", "Leonhard", "Sofia")


def reply(
    page: Page, form: Form, answers: Mapping[str, str], draw: Stream, *, play_more: bool
) -> dict[str, str]:
    """Return the values to submit for a page: consent, ticked boxes and guessed answers.

    Args:
        answers: answers by question; others are guessed.
        play_more: whether to play another game.
    """
    fields = guess(page, form, (), draw)
    presets = {"agreed": "yes", "more": "yes" if play_more else "no", "name": draw.pick(NAMES)}
    if match := CODE_WORD.search(page.words):
        presets["code_word"] = match[1]
    presets |= answers
    buttons = dict(form.buttons)
    names = [*(blank.name for blank in form.blanks), *buttons]
    ticks = {blank.name: blank.value for blank in form.blanks if blank.kind == "tick"}
    guesses = {name: text for name, text in fields.items() if name not in buttons}
    return guesses | ticks | {name: presets[name] for name in names if name in presets}


def attention(page: Page, form: Form) -> dict[str, str]:
    """Return the values that confirm a message or pass an attention check."""
    match = PROMPTED.search(page.words)
    return {
        blank.name: blank.value if blank.kind == "hidden" or not match else match[1]
        for blank in form.blanks
    }
