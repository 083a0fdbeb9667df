"""Each option name has one meaning and one unit in all commands, and a clear help text."""

import re
from collections import defaultdict
from typing import Any

from cheaptalk.cli.commands import COMMANDS, full_names
from cheaptalk.cli.shared.loading import loaded
from tests.cli import CASES

IN_CONTEXT = CASES["in_context"]
"""Options whose help differs between commands, with their common meaning."""
VERBS = set(CASES["verbs"])
"""The allowed first words of an option's help."""


def options() -> list[tuple[str, Any]]:
    """Return all options of all commands, each with the command's name."""
    return [
        (name, parameter)
        for name, entry in full_names().items()
        for parameter in loaded(name, entry).params
        if parameter.param_type_name == "option"
    ]


def test_options_have_one_meaning_in_all_commands() -> None:
    helps, forms = defaultdict(set), defaultdict(set)
    for _, option in options():
        for name in option.opts:
            helps[name].add(option.help)
            if not option.is_flag:
                forms[name].add(option.metavar)
    differing = {name for name, texts in helps.items() if len(texts) > 1}
    assert differing == set(IN_CONTEXT)
    shared = {name: kinds for name, kinds in forms.items() if len(kinds - {None}) > 1}
    assert shared.keys() == {"--out"}


def test_times_are_seconds_and_money_is_dollars() -> None:
    for command, option in options():
        name = option.opts[0]
        assert not re.search(r"\b(minutes?|hours?|cents?)\b", option.help), (command, name)
        timed = re.search(r"(timeout|interval|delay|-time)$", name)
        assert bool(timed) == (option.metavar == "SECONDS"), (command, name)


def test_option_help_is_a_sentence_that_starts_with_a_verb() -> None:
    for command, option in options():
        text = re.sub(r"^With [\w-]+: (\w)", lambda match: match[1].upper(), option.help)
        assert text.split()[0] in VERBS, (command, option.opts[0], text)
        assert text.endswith("."), (command, option.opts[0], text)


def test_summaries_fit_on_one_line() -> None:
    for name, entry in (full_names() | COMMANDS).items():
        assert entry.summary.endswith("."), name
        width = {1: 65, 2: 78 - len("exploitability") - 4}.get(len(name.split()))
        assert width is None or len(entry.summary) <= width, name
