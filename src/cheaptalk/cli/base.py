"""What all commands share: the application, common options, and how things are printed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

import cheaptalk as ct
from cheaptalk.files import parse_yaml
from cheaptalk.rules.errors import first_problem

ORDER = (
    "games", "players", "rosters", "prompt", "preset", "prices", "plan", "run", "resume", "ctl",
    "batches", "cache", "status", "show", "view", "judge", "label", "report", "recipes",
    "compare", "leaderboard", "metagame", "export", "import", "play", "doctor",
)  # fmt: skip
"""The commands in the order in which one comes to need them."""


class InOrder(TyperGroup):
    """Lists the commands in :data:`ORDER`, and words what is wrong with their options as we do."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                error.message = first_problem(error.__cause__)
            raise


app = typer.Typer(
    name="cheaptalk",
    cls=InOrder,
    help="A laboratory for strategic communication: plan, play, resume and report studies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEFAULT_STORE = Path("cheaptalk.sqlite")

StoreOption = Annotated[
    Path,
    typer.Option("--store", envvar="CHEAPTALK_STORE", help="The store file.", show_envvar=True),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
StudyArgument = Annotated[
    str, typer.Argument(help="A study file, a preset's name, or the name of a study in the store.")
]
PlayerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--player",
        help="Add or replace a player: a strategy, a model string, or YAML such as "
        "'{model: openai/gpt-4o, temperature: 1}'. Repeat it for several.",
        metavar="LABEL=SPEC",
    ),
]
RosterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--roster",
        help="Let a roster's players join, such as glee, glee:gpt-4o,o3-mini or a file of your "
        "own. Repeat it for several.",
        metavar="NAME[:LABEL,...]",
    ),
]

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def print_json(data: Any) -> None:
    """Print data as JSON on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, default=str) + "\n")


def print_table(title: str | None, columns: list[str], rows: list[list[object]]) -> None:
    """Print a table; numbers stand right."""
    table = Table(
        title=None if title is None else Text(title),
        title_justify="left", header_style="bold", box=None, pad_edge=False,
    )  # fmt: skip
    for place, column in enumerate(columns):
        numeric = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(f"{c:,}" if isinstance(c, int) else str(c)) for c in row))
    out.print(table)


@contextmanager
def reading(path: Path) -> Iterator[ct.Store | None]:
    """The store, or None where there is none yet."""
    if not path.exists():
        yield None
        return
    with ct.Store.open(path) as opened:
        yield opened


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Begin what is said against a study with where it was written."""
    try:
        yield
    except ct.StudyError as error:
        raise ct.StudyError(f"{source}: {error}") from None


def find_study(
    name: str, store: Path, players: Sequence[str] = (), rosters: Sequence[str] = ()
) -> ct.Study:
    """A study from a file, a preset, or a store, looked for in this order.

    Args:
        players: roster entries to add or to put in place of others, as LABEL=SPEC.
        rosters: rosters whose players join, as NAME_OR_FILE or NAME_OR_FILE:LABEL,...

    Raises:
        StudyError: there is none, or it is not legal.
    """
    study = _study_named(name, store)
    if not players and not rosters:
        return study
    data = study.written() | {"roster": list(rosters)}
    data["players"] |= _added(players)
    return ct.studies.parse_study(data, name)


def _added(players: Sequence[str]) -> dict[str, Any]:
    """Roster entries as written behind ``--player``."""
    entries: dict[str, Any] = {}
    for written in players:
        label, _, spec = (part.strip() for part in written.partition("="))
        problem = None
        if not label or not spec:
            problem = f'"{written}" is not LABEL=SPEC, such as rival=linear or gpt=openai/gpt-4o'
        elif label in entries:
            problem = f'"{label}" stands twice; give one of them another label'
        if problem is not None:
            raise typer.BadParameter(problem, param_hint="--player")
        entries[label] = player_entry(spec)
    return entries


def _study_named(name: str, store: Path) -> ct.Study:
    path = Path(name)
    if path.suffix in (".yaml", ".yml", ".json") or path.is_file():
        return ct.load_study(path)
    found = ct.preset(name)
    if found is not None:
        return found
    with reading(store) as opened:
        known = {one.name: one.spec for one in opened.studies()} if opened else {}
    if name in known:
        return stored_study(name, known[name])
    names = sorted({*ct.studies.preset_names(), *known})
    raise ct.StudyError(f"no study file, preset or stored study {ct.rules.suggest(name, names)}")


def stored_study(name: str, spec: dict[str, Any]) -> ct.Study:
    """A study as the store holds it.

    Raises:
        StudyError: it was imported, or is not legal in this version.
    """
    if "players" not in spec:
        raise ct.StudyError(f'"{name}" was imported; there is nothing to play')
    return ct.studies.parse_study(spec, name)


def player_entry(written: str) -> Any:
    """A player as a roster entry: a strategy's name, a model string, or an entry in YAML.

    >>> player_entry("linear"), player_entry("openai/gpt-4o")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'})
    >>> player_entry("{strategy: linear, start: 0.9}")
    {'strategy': 'linear', 'start': 0.9}

    Raises:
        StudyError: it is not YAML.
    """
    data = _yaml(written)
    if isinstance(data, str):
        return {"model": data} if "/" in data else {"strategy": data}
    return data


def excluded_text(found: ct.records.Excluded) -> str:
    """What a study's policy for matches without an answer has come to, in one line.

    >>> excluded_text(ct.records.Excluded(dropped=1, redealt=1))
    '1 match dropped from measures, 1 match dealt afresh'
    """
    dropped, redealt = (ct.rules.counted(number, "match") for number in found)
    return f"{dropped} dropped from measures, {redealt} dealt afresh"


def set_aside_text(count: int) -> str:
    """What has become of matches that a study no longer plans.

    >>> set_aside_text(1)
    '1 match of earlier forms of the study set aside: in the store and its exports, but not counted'
    """
    return (
        f"{ct.rules.counted(count, 'match')} of earlier forms of the study set aside: in the store "
        "and its exports, but not counted"
    )


def parameters(written: list[str]) -> dict[str, Any]:
    """A game's parameters as written behind ``--set``, each NAME=VALUE with the value in YAML."""
    values = {}
    for one in written:
        name, equals, value = one.partition("=")
        if not equals:
            raise typer.BadParameter(f'"{one}" is not NAME=VALUE', param_hint="--set")
        values[name] = _yaml(value)
    return values


def _yaml(written: str) -> Any:
    """What is written in YAML on the command line."""
    try:
        return parse_yaml(written)
    except ValueError as error:
        raise ct.StudyError(f"{written} cannot be read as YAML: {error}") from None


def as_yaml(value: Any) -> str:
    """A value in one line, as people write it in a study file.

    >>> as_yaml(ct.Horizon(rounds=12)), as_yaml(ct.Horizon(rounds=99, hidden=True))
    ('12', '{rounds: 99, hidden: true}')
    >>> as_yaml((0.9, 0.9)), as_yaml(True), as_yaml({})
    ('[0.9, 0.9]', 'true', '{}')
    """
    if isinstance(value, ct.Horizon) and not value.hidden:
        value = value.rounds
    plain = TypeAdapter[Any](Any).dump_python(value, mode="json", exclude_defaults=True)
    text = yaml.safe_dump(plain, default_flow_style=True, width=math.inf, sort_keys=False)
    return text.strip().removesuffix("\n...")
