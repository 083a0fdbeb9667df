"""Arguments and options that several commands have, and how what is written there is read."""

from __future__ import annotations

import errno
import inspect
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.whole_files import is_store

DEFAULT_STORE = "cheaptalk.sqlite"
PORT = 8642
VIEWER = f"http://127.0.0.1:{PORT}"
"""Where the viewer listens and reports link to, unless told otherwise."""
CAPS = "calls=N,tokens=N,dollars=X"
"""How caps are written behind ``--budget``."""
LIFTED = "none"

StoreOption = Annotated[
    str,
    typer.Option(
        "--store", envvar="CHEAPTALK_STORE", help="The store: its file or URL.", show_envvar=True
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
StudyArgument = Annotated[
    str,
    typer.Argument(
        help="A study file, a preset's name, or the name of a study in the store.",
        autocompletion=completion.studies,
    ),
]
StoredArgument = Annotated[
    str,
    typer.Argument(
        help="The name of a study in the store.", autocompletion=completion.stored_studies
    ),
]
PlayerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--player",
        help="Add or replace a player: a strategy, a model string, or YAML such as "
        "'{model: openai/gpt-4o, temperature: 1}'; '{strategy: boulware, cross: {power: [4, 8]}}' "
        "adds a player for each level of a factor. Repeat it for several.",
        metavar="LABEL=SPEC",
        autocompletion=completion.labelled_players,
    ),
]
RosterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--roster",
        help="Let a roster's players join, such as glee, glee:gpt-4o,o3-mini or a file of your "
        "own. Repeat it for several.",
        metavar="NAME[:LABEL,...]",
        autocompletion=completion.rosters,
    ),
]
ParametersOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="A parameter of the game, in YAML.", metavar="NAME=VALUE"),
]
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="A file of prices that go before those of the package; CHEAPTALK_PRICES names one "
        "too, and prices.yaml in this folder is read by itself.",
        metavar="FILE",
        show_default=False,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Take replies bought before from the cache."),
]
CacheFileOption = Annotated[
    Path | None,
    typer.Option(
        "--cache-file",
        envvar="CHEAPTALK_CACHE",
        show_envvar=True,
        help="Where the cache is; naming it turns it on.",
        show_default=str(Path("~/.cache/cheaptalk/replies.sqlite")),
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        min=1, help="Matches with models played at once.", show_default="64; 10,000 in batches"
    ),
]
NoEstimateOption = Annotated[
    bool,
    typer.Option("--no-estimate", help="Do not estimate what models cost; caps hold all the same."),
]
TrackOption = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        help="Tell a tracker how it goes: tensorboard:FOLDER, wandb:PROJECT or mlflow:URI. Repeat "
        "it for several.",
        metavar="NAME[:WHERE]",
    ),
]
PublishedOption = Annotated[
    bool, typer.Option("--as-published", help="Measure as the published systems' code does.")
]
DrawSeedOption = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes a free one.")
]
ViewerOption = Annotated[
    str,
    typer.Option("--viewer", help="The viewer to which links of the page lead.", metavar="ADDRESS"),
]


RawCellsOption = Annotated[
    bool,
    typer.Option(
        "--raw-cells",
        help="Write texts in CSV as they are, those too that a spreadsheet takes for formulas.",
    ),
]


def file_to_write(path: Path | None) -> Path | None:
    """What is to be written, as an option names it; ``-`` is no name of a file.

    Raises:
        BadParameter: it is ``-``, or what it would replace is a store.
    """
    if path == Path("-"):
        raise typer.BadParameter("it writes files, and not to standard output; name one, not -")
    if path is not None and is_store(path):
        raise typer.BadParameter(f"{path} is a store, which is not replaced; name another file")
    return path


def check_writable(*paths: Path) -> None:
    """Refuse files that cannot be written; folders that are missing on the way are made.

    Raises:
        CheaptalkError: one cannot.
    """
    for path in paths:
        if path.exists() and not path.is_file() and not path.is_dir():
            continue  # a pipe or a device, which is written as it is
        try:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            path.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise ct.CheaptalkError(f"{path}: cannot be written: {error.strerror}") from None


def page_to_write(path: Path | None) -> Path | None:
    """A page to write, as an option names it.

    Raises:
        BadParameter: it would replace a store, or YAML as studies are; or it is ``-``.
    """
    if path is not None and path.suffix in (".yaml", ".yml") and path.is_file():
        raise typer.BadParameter(f"{path} is there, and such a file is not replaced; name another")
    return file_to_write(path)


def folder_to_write(path: Path | None) -> Path | None:
    """A folder to write files into, as an option names it.

    Raises:
        BadParameter: it is a file, or ``-``.
    """
    if path is not None and path.is_file():
        raise typer.BadParameter(f"{path} is a file; name a folder, which is made if need be")
    return file_to_write(path)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose last parameter is a dataclass: its fields are the command's last options."""
    *own, last = inspect.signature(command, eval_str=True).parameters.values()
    fields = inspect.signature(last.annotation, eval_str=True).parameters

    @wraps(command)
    def called(**given: Any) -> None:
        chosen = last.annotation(**{name: given.pop(name) for name in fields})
        command(**given, **{last.name: chosen})

    signature = inspect.Signature([*own, *fields.values()])
    hints = {name: one.annotation for name, one in signature.parameters.items()}
    vars(called).update(__signature__=signature)
    called.__annotations__ = hints
    return called


def retyped(context: typer.Context, *more: str, without: Collection[str] = ("json",)) -> str:
    """The command as it was typed.

    Args:
        more: options to be added where it lacks them.
        without: parameters, by their names in Python, that are left out.
    """
    words = ["cheaptalk", str(context.info_name)]
    for one in context.command.params:
        name, value = str(one.name), context.params.get(str(one.name))
        source = context.get_parameter_source(name)
        if value is None or source is None or source.name != "COMMANDLINE" or name in without:
            continue
        if one.param_type_name == "argument":
            words.append(str(value))
        elif not isinstance(value, bool):
            for each in value if isinstance(value, list | tuple) else [value]:
                words += [one.opts[0], str(each)]
        else:
            words.append((one.opts if value else one.secondary_opts)[0])
    return shlex.join([*words, *(option for option in more if option not in words)])


def pair(
    written: str, form: str, option: str, *, last: bool = False, empty: bool = False
) -> tuple[str, str]:
    """The two sides of what is written behind an option with an equals sign in between.

    Args:
        form: how it is to be written, as in NAME=VALUE.
        option: the option.
        last: divide at the last equals sign, as the left side may hold one; else at the first.
        empty: whether the right side may be empty.

    Raises:
        BadParameter: it is not of this form.
    """
    halves = written.rpartition("=") if last else written.partition("=")
    left, equals, right = (half.strip() for half in halves)
    if not (left and equals and (right or empty)):
        raise typer.BadParameter(f'"{written}" is not {form}', param_hint=option)
    return left, right


def parameters(written: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """A game's parameters as written behind ``--set``, each NAME=VALUE with the value in YAML.

    Args:
        option: the option, if it is another.
    """
    sides = [pair(one, "NAME=VALUE", option, empty=True) for one in written]
    return {name: _yaml(value) for name, value in sides}


def player_entry(written: str) -> Any:
    """A player as a roster entry: a strategy's name, a model string, or an entry in YAML.

    >>> player_entry("linear"), player_entry("openai/gpt-4o")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'})
    >>> player_entry("{strategy: linear, start: 0.9}")
    {'strategy': 'linear', 'start': 0.9}

    Raises:
        StudyError: it is not YAML.
    """
    return ct.players.seats.entry_of(_yaml(written))


def _yaml(written: str) -> Any:
    try:
        ct.models.model_strings.refuse_secrets(written)
    except ValueError as error:
        raise ct.StudyError(str(error)) from None
    try:
        return ct.yaml_files.parse_yaml(written)
    except ValueError as error:
        raise ct.StudyError(f"{written} cannot be read as YAML: {error}") from None


def cap_of(written: Sequence[str]) -> ct.studies.Cap:
    """Caps as written behind ``--budget``: NAME=NUMBER, with commas between or behind several.

    A cap that is lifted with ``none`` is among the fields that are set, and is None.

    >>> cap_of(["calls=500,dollars=2.5", "tokens=none"]).model_dump(exclude_unset=True)
    {'calls': 500, 'tokens': None, 'dollars': 2.5}

    Raises:
        BadParameter: one is not NAME=NUMBER, is no cap, or stands twice.
    """
    caps: dict[str, float | None] = {}
    for one in (part for text in written for part in text.split(",")):
        name, _, value = (part.strip() for part in one.partition("="))
        if name in caps:
            raise _no_cap(f"{name} stands twice")
        try:
            caps[name] = None if value == LIFTED else float(value)
        except ValueError:
            raise _no_cap(f'"{one}" is not NAME=NUMBER; write {CAPS}') from None
    try:
        return ct.studies.Cap.model_validate(caps)
    except ValueError as error:
        raise _no_cap(ct.rules.errors.problem_of(error) or str(error)) from None


def _no_cap(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--budget")


def cache_at(cache: bool | None, file: Path | None) -> Path | None:
    """Where the cache is, as the options say; None for no cache."""
    if cache is False:
        return None
    return file or (usual_cache() if cache else None)


def usual_cache() -> Path:
    """Where the cache is unless an option says otherwise."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "cheaptalk" / "replies.sqlite"
