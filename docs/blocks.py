"""Extraction and execution of the code blocks of a page: its files and console commands."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(
    r"^(?:<!-- skip: (?P<skip>[^\n]*) -->\n)?"
    r'(?P<fence>`{3,})(?P<language>\w+)(?: title="(?P<title>[^"\n]+)")?\n'
    r"(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
"""A fenced block. Its title is the name of its file; a ``skip`` comment before it disables it."""
PORT = re.compile(r"\b81[23]\d\b")
"""The server ports that pages use."""
LISTENING = "until (: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep; done"
"""Shell command that waits until a server listens on a port."""
MARK = "\x1e"
"""Marker before and after the exit status that follows each command's output."""
BASH = shutil.which("bash") or "bash"


class Block(NamedTuple):
    """A fenced block of a page.

    Attributes:
        language: the language.
        title: the name of the file with this content; None without one.
        body: the content.
        skip: the reason not to run the block; None to run it.
    """

    language: str
    title: str | None
    body: str
    skip: str | None


class Command(NamedTuple):
    """A command and its expected output, in which ``...`` matches any text."""

    typed: str
    shown: str


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a page or of part of a page, in order."""
    matches = BLOCK.finditer(text)
    return [Block(m["language"], m["title"], m["body"], m["skip"]) for m in matches]


def commands(body: str) -> Iterator[Command]:
    """Yield the commands of a console block with their expected output.

    >>> list(commands("$ echo a \\\\\\n    b\\na b\\n$ true\\n"))
    [Command(typed='echo a \\\\\\n    b', shown='a b\\n'), Command(typed='true', shown='')]
    """
    assert body.startswith("$ "), body
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        typed, _, shown = part.partition("\n")
        while typed.endswith("\\"):
            more, _, shown = shown.partition("\n")
            typed += f"\n{more}"
        yield Command(typed, shown)


def script(page: Iterable[Block]) -> tuple[str, list[Command]]:
    """Return a Bash script that writes a page's files and runs its commands, in order.

    The script replaces the ports of the page's servers by free ports, and waits until each server
    listens.

    Returns:
        The script, and the commands that it runs.
    """
    lines, run = ["trap 'kill $(jobs -p) 2>/dev/null' EXIT", "sleep() { command sleep 0.2; }"], []
    ports: dict[str, str] = {}
    for block in page:
        if block.skip is not None:
            continue
        body = block.body
        for port in set(PORT.findall(body)):
            body = re.sub(rf"\b{port}\b", ports.setdefault(port, str(free_port())), body)
        if block.title is not None and not (ROOT / block.title).exists():
            lines += [f"mkdir -p \"$(dirname '{block.title}')\""]
            lines += [f"cat > '{block.title}' <<'{MARK}'", body + MARK]
        for command in commands(body) if block.language == "console" else ():
            lines += [command.typed]
            if command.typed.endswith("&"):
                lines += [LISTENING.format(port=port) for port in ports.values()]
            lines += [f"printf '{MARK}%s{MARK}' $?"]
            run.append(command)
    return "\n".join(lines), run


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def environment(home: Path) -> dict[str, str]:
    """Return the environment variables of a reader's shell.

    The current Python environment comes first in ``PATH``, API keys and settings are removed, and
    pip installs into a folder of ``home`` without network access.
    """
    variables = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")}
    for name in (
        "CHEAPTALK_STORE",
        "CHEAPTALK_CACHE",
        "CHEAPTALK_PROVIDERS",
        "CHEAPTALK_SETTINGS",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
    ):
        variables.pop(name, None)
    return variables | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "COLUMNS": "80",
        "PIP_TARGET": str(home / "installed"),
        "PYTHONPATH": str(home / "installed"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip interprets 0 as "no build isolation"
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
