"""Replies: a participant's page answered by what it says, and by what was told beforehand."""

import re
from collections.abc import Mapping

from cheaptalk.rules.chance import Stream
from cheaptalk.web.bots.guesses import guess
from cheaptalk.web.bots.pages import Form, Page

CODE_WORD = re.compile(r"only the word (\S+) into")
PROMPTED = re.compile(r"\bthe word \W?(\w+)")
NAMES = ("Ada", "Emmy", "Grace", "Kurt", "Leonhard", "Sofia")


def reply(
    page: Page, form: Form, answers: Mapping[str, str], draw: Stream, *, more: bool
) -> dict[str, str]:
    """What to send for a page on the path: agreed to and ticked, its questions answered.

    Args:
        answers: to questions, by their names; the others are guessed.
        more: whether another game is wanted.
    """
    fields = guess(page, form, (), draw)
    told = {"agreed": "yes", "more": "yes" if more else "no", "name": draw.pick(NAMES)}
    if found := CODE_WORD.search(page.words):
        told["code_word"] = found[1]
    told |= answers
    buttons = dict(form.buttons)
    named = [*(one.name for one in form.blanks), *buttons]
    ticks = {one.name: one.value for one in form.blanks if one.kind == "tick"}
    kept = {name: text for name, text in fields.items() if name not in buttons}
    return kept | ticks | {name: told[name] for name in named if name in told}


def attention(page: Page, form: Form) -> dict[str, str]:
    """What to send for a message or a prompt: the word that it asks for."""
    found = PROMPTED.search(page.words)
    return {
        one.name: one.value if one.kind == "hidden" or not found else found[1]
        for one in form.blanks
    }
