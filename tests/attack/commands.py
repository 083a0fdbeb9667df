"""Run commands in separate processes, and generate random command lines."""

import os
import random
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, get_args

import typer

from cheaptalk.cli import main
from cheaptalk.cli.main import app

LONGEST = 300.0
"""Seconds after which a command counts as a hang."""
STATUSES = frozenset({0, 1, 2})
"""Exit statuses of a command that wasn't killed."""
PLAIN = {"\n", "\t", "\r"}
"""Control characters that are allowed in text."""
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(["cheaptalk.cli.main", "tests.attack.commands"])


class CommandResult(NamedTuple):
    """The result of a command: its exit status, or None after a kill, and both output streams."""

    arguments: Sequence[str]
    status: int | None
    text: str

    @property
    def breaches(self) -> list[str]:
        """Violations of the rules for every command, whatever its arguments."""
        control = {char for char in self.text if not char.isprintable()}
        checks = {
            "it hangs": self.status is None,
            "a traceback": "Traceback (most recent call last)" in self.text
            or "Exception ignored" in self.text,
            f"exit status {self.status}": self.status not in {*STATUSES, None},
            "a failure without output": self.status not in (0, None) and not self.text.strip(),
            "terminal control codes": not control <= PLAIN,
        }
        shown = f"{list(self.arguments)!r:.1000}\n{self.text[-3000:]}"
        return [f"{problem}: {shown}" for problem, found in checks.items() if found]


def run_command(arguments: Sequence[str], folder: Path, home: Path) -> CommandResult:
    """Run a command in a folder with its own home folder, without standard input."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    environment = kept | {"HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside) / "said"
        process = FORKS.Process(target=_play, args=(arguments, folder, environment, path))
        process.start()
        process.join(LONGEST)
        status = process.exitcode
        if status is None:
            process.kill()
            process.join()
        text = path.read_text(errors="backslashreplace") if path.exists() else ""
    return CommandResult(arguments, status, text)


def _play(arguments: Sequence[str], folder: Path, environment: dict[str, str], path: Path) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    for number in (1, 2):
        os.dup2(file, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["cheaptalk", *arguments]
    try:
        main()
    except Exception:  # noqa: BLE001 - report any failure
        traceback.print_exc()
        sys.exit(1)


# Random command lines

WORDS = (
    "", " ", "-", "--", "---x", "0", "-1", "1e999", "nan", "10000000000000000000000", "true",
    "null", "a\nb", "\x1b[31mred", "\u202etfel", "\U0001f600", "x" * 5000, "../..", "/",
    "/dev/null", "/dev/full", "/proc/self/mem", ".", "quickstart", "glee", "gama", "fuzzed",
    "chips", "bargaining", "no_such_game", "equal_split", "a=equal_split", "a={strategy: random}",
    "a={model: openai/gpt-4o}", "a=vllm/x@http://127.0.0.1:9/v1", "a={", "=", "a=", "horizon=4",
    "horizon=[", "money=-1", "calls=1", "calls=-1,dollars=x", "dollars=nan", "csv", "alice",
    "hallucination", "*", "%s", "{}", "[]", "fuzzed.sqlite", "sqlite:///fuzzed.sqlite",
    "postgresql://u:p@127.0.0.1:9/x", "http://127.0.0.1:9", "\\", "'; drop table matches; --",
    "out", "out.zip", "report.html", "study.yaml", "labels.csv",
)  # fmt: skip
"""Arguments that people and scripts might type."""
EXCLUDED = frozenset({"view", "control", "serve", "mock-server", "self-play", "experiment", "mcp"})
"""Commands that wait for input, serve until stopped, or look up models on the Hub."""
TRACEBACK_OPTION = "verbose"
"""The option that prints tracebacks."""


Leaf: TypeAlias = tuple[tuple[str, ...], Any]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            if name not in EXCLUDED:
                yield from leaves(command.get_command(context, name), (*path, name))
    else:
        yield path, command


COMMANDS = tuple(leaves(typer.main.get_command(app)))


def command_line(luck: random.Random, words: Sequence[str]) -> list[str]:
    """Return a command with some of its options and random, often plausible values."""
    path, command = luck.choice(COMMANDS)
    arguments = list(path)
    for parameter in command.params:
        given = _random_arguments(parameter, luck, words)
        if (
            given
            and parameter.name != TRACEBACK_OPTION
            and luck.random() < (0.95 if parameter.required else 0.25)
        ):
            arguments += given
    if luck.random() < 0.1:
        arguments.insert(luck.randrange(len(arguments) + 1), luck.choice(WORDS))
    return [argument.replace("\0", "") for argument in arguments]


def _random_arguments(parameter: Any, luck: random.Random, words: Sequence[str]) -> list[str]:
    """Return a parameter with a random value, usually a plausible one."""
    kind = parameter.type_descriptor.annotation
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    useful: list[Any] = [*words, *choices] * 3
    if {int, float} & {kind, *get_args(kind)}:
        useful = [1, 2, 5, 0, -1, 0.5, 100] * 10
    value = str(luck.choice([*useful, *WORDS]))
    if parameter.param_type_name == "argument":
        return [value]
    name = luck.choice(parameter.opts + parameter.secondary_opts)
    return [name] if parameter.is_flag else [name, value]
