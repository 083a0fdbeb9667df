"""Each option name has one meaning and one unit in all commands, and a clear help text."""

import re
from collections import defaultdict
from typing import Any

from cheaptalk.cli.commands import COMMANDS, full_names
from cheaptalk.cli.shared.loading import loaded

IN_CONTEXT = {
    "--actor": "an actor whose part of a match is shown",
    "--alias": "another name of one player",
    "--allow-failures": "exit status 0 despite failures",
    "--batch": "providers' batch APIs",
    "--budget": "caps of a study or judge",
    "--cluster": "the address of a Ray cluster",
    "--concurrency": "matches under way at once",
    "--draws": "the number of bootstrap draws",
    "--game": "a game or configuration",
    "--matches": "the number of matches to train on",
    "--model": "a language model with its settings",
    "--opponent": "the player in all other seats",
    "--out": "the file or folder to write",
    "--port": "the port to listen on",
    "--prompt-style": "a prompt style",
    "--request": "the number of a decision request",
    "--sample": "the size of a random sample",
    "--seed": "a random seed",
    "--study": "the name of a study",
    "--with-player": "a player whose matches are selected",
    "--workers": "the number of processes",
}
"""Options whose help differs between commands, with their common meaning."""
VERBS = {
    "Accept", "Add", "Allow", "Also", "Analyse", "Authenticate",
    "Change", "Check", "Choose", "Clone",
    "Compare", "Compute", "Continue", "Create", "Delay", "Delete", "Do", "Draw",
    "Estimate", "Evaluate", "Exclude", "Exit", "Export", "Fail", "Import", "Include",
    "Judge", "Keep", "Let", "Link", "List", "Listen", "Log", "Maximize",
    "Only", "Pass", "Play", "Pool", "Print", "Propose", "Rank", "Read", "Record",
    "Repeat", "Resample", "Retry", "Reuse", "Run", "Search", "Select", "Send", "Serve", "Set",
    "Show", "Skip", "Sort", "Start", "Stop", "Store", "Submit", "Take", "Train",
    "Treat", "Turn", "Use", "Wait", "Write",
}  # fmt: skip
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
