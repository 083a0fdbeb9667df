"""Arguments and options shared by several commands, and the parsing of their values."""

from __future__ import annotations

import errno
import inspect
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import wraps
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, get_args

import typer

import cheaptalk as ct
from cheaptalk.atomic_files import is_store
from cheaptalk.cli.shared import completion

DEFAULT_STORE = "cheaptalk.sqlite"
CPUS = os.cpu_count() or 1
PORT = 8642
VIEWER = f"http://127.0.0.1:{PORT}"
"""Default address of the viewer, to which reports link."""
CAPS = "calls=N,tokens=N,dollars=X"
"""Format of ``--budget``."""
LIFTED = "none"

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="CHEAPTALK_STORE",
        help="Use this store: a SQLite file or a database URL.",
        show_envvar=True,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
StudyArgument = Annotated[
    str,
    typer.Argument(
        help="Study file, preset, or study in the store.", autocompletion=completion.studies
    ),
]
StoredArgument = Annotated[
    str,
    typer.Argument(help="Name of a study in the store.", autocompletion=completion.stored_studies),
]
PlayerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--player",
        help="Add or replace a player: a strategy, a model, e.g. openai/gpt-4o, or settings in "
        "YAML, e.g. '{model: openai/gpt-4o, temperature: 1}'. Repeatable.",
        metavar="LABEL=SPEC",
        rich_help_panel="Scope",
        autocompletion=completion.labelled_players,
    ),
]
RosterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--roster",
        help="Add all players of a roster (a name or a YAML file), or only the players with these "
        "labels. Repeatable.",
        metavar="NAME[:LABEL,...]",
        rich_help_panel="Scope",
        autocompletion=completion.rosters,
    ),
]
ParametersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Set a parameter of the game, in YAML. Repeatable.", metavar="NAME=VALUE"
    ),
]
PromptStyleOption = Annotated[
    str | None,
    typer.Option(
        "--prompt-style",
        help="Use this prompt style; cheaptalk game list GAME lists a game's styles.",
        metavar="NAME",
        autocompletion=completion.styles,
        show_default="the default of the player or the game",
    ),
]
SeatOption = Annotated[
    str | None,
    typer.Option(
        "--seat",
        help="Choose this seat, e.g. bob or player_3.",
        autocompletion=completion.seats,
        show_default="the first seat",
    ),
]
HyperparameterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hyperparameter", help="Set a hyperparameter, in YAML. Repeatable.", metavar="NAME=VALUE"
    ),
]
RubricOption = typer.Option(
    "--rubric",
    help="Use this rubric: claims, hallucination, honesty, promises or a YAML file.",
    autocompletion=completion.rubrics,
)
PricesOption = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="Read prices from this YAML file; they take precedence over built-in prices. Default: "
        "$CHEAPTALK_PRICES, or prices.yaml in this folder.",
        metavar="FILE",
        show_default=False,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option("--cache/--no-cache", help="Reuse model responses from the response cache."),
]
CacheFileOption = Annotated[
    Path | None,
    typer.Option(
        "--cache-file",
        envvar="CHEAPTALK_CACHE",
        show_envvar=True,
        help="Turn the response cache on, and store it in this file.",
        show_default=str(Path("~/.cache/cheaptalk/replies.sqlite")),
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Play up to N matches with models at once.",
        metavar="N",
        show_default="64; 10,000 in batches",
    ),
]
NoEstimateOption = Annotated[
    bool, typer.Option("--no-estimate", help="Skip the cost estimate; budgets still apply.")
]
TrackOption = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        help="Log to an experiment tracker: tensorboard:FOLDER, wandb:PROJECT or mlflow:URI. "
        "Repeatable.",
        metavar="NAME[:TARGET]",
    ),
]
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Continue without asking for confirmation.")
]
PublishedOption = Annotated[
    bool,
    typer.Option(
        "--as-published", help="Compute metrics as the code of the published systems does."
    ),
]
DrawSeedOption = Annotated[
    int, typer.Option(min=0, help="Set the random seed of the bootstrap draws.")
]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="Listen on this port; 0 picks a free port.")
]
ViewerOption = Annotated[
    str,
    typer.Option("--viewer", help="Link the report to the viewer at this address.", metavar="URL"),
]
RawCellsOption = Annotated[
    bool, typer.Option("--raw-cells", help="Do not escape spreadsheet formulas in CSV cells.")
]
WorkersOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="Use N processes.", show_default="one per CPU core")
]


def file_to_write(path: Path | None) -> Path | None:
    """Return the output file that an option names.

    Raises:
        BadParameter: the path is ``-``, or an existing store.
    """
    if path == Path("-"):
        raise typer.BadParameter('cannot write to standard output ("-"); choose a file')
    if path is not None and is_store(path):
        raise typer.BadParameter(f"{path} is a store; choose another file name")
    return path


def check_writable(*paths: Path) -> None:
    """Create missing parent folders, and check that files can be written.

    Raises:
        CheaptalkError: a file cannot be written.
    """
    for path in paths:
        if path.exists() and not path.is_file() and not path.is_dir():
            continue  # a pipe or a device
        try:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            path.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise ct.CheaptalkError(f"cannot write {path}: {error.strerror}") from None


def page_to_write(path: Path | None) -> Path | None:
    """Return the output page that an option names.

    Raises:
        BadParameter: the path is ``-``, an existing store or an existing YAML file.
    """
    if path is not None and path.suffix in (".yaml", ".yml") and path.is_file():
        raise typer.BadParameter(f"{path} is an existing YAML file; choose another file name")
    return file_to_write(path)


def folder_to_write(path: Path | None) -> Path | None:
    """Return the output folder that an option names.

    Raises:
        BadParameter: the path is ``-`` or a file.
    """
    if path is not None and path.is_file():
        raise typer.BadParameter(f"{path} is a file; choose a folder")
    return file_to_write(path)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of the dataclass in its last parameter.

    ``PANELS`` of the dataclass contains the help headings of options by name.
    """
    *first, last = inspect.signature(command, eval_str=True).parameters.values()
    fields = {
        name: _in_panel(field, last.annotation.PANELS.get(name))
        for name, field in inspect.signature(last.annotation, eval_str=True).parameters.items()
    }

    @wraps(command)
    def wrapper(**values: Any) -> None:
        options = last.annotation(**{name: values.pop(name) for name in fields})
        command(**values, **{last.name: options})

    signature = inspect.Signature([*first, *fields.values()])
    hints = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    vars(wrapper).update(__signature__=signature)
    wrapper.__annotations__ = hints
    return wrapper


def _in_panel(parameter: inspect.Parameter, panel: str | None) -> inspect.Parameter:
    if panel is None:
        return parameter
    base, option = get_args(parameter.annotation)
    option = copy(option)
    option.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[base, option])


def retyped(context: typer.Context, *more: str, without: Collection[str] = ("json",)) -> str:
    """Return the entered command line, with options added and some parameters removed."""
    words = context.command_path.split()
    for parameter in context.command.params:
        name, value = str(parameter.name), context.params.get(str(parameter.name))
        source = context.get_parameter_source(name)
        if value is None or source is None or source.name != "COMMANDLINE" or name in without:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif not isinstance(value, bool):
            for item in value if isinstance(value, list | tuple) else [value]:
                words += [parameter.opts[0], str(item)]
        else:
            words.append((parameter.opts if value else parameter.secondary_opts)[0])
    return shlex.join([*words, *(option for option in more if option not in words)])


def pair(
    text: str, form: str, option: str, *, last: bool = False, empty: bool = False
) -> tuple[str, str]:
    """Split an option's value at an equals sign.

    Args:
        form: expected format for the error message, e.g. NAME=VALUE.
        last: whether to split at the last equals sign instead of the first.
        empty: whether the right side may be empty.

    Raises:
        BadParameter: the value does not have this format.
    """
    parts = text.rpartition("=") if last else text.partition("=")
    name, equals, value = (part.strip() for part in parts)
    if not (name and equals and (value or empty)):
        raise typer.BadParameter(f'expected {form}, got "{text}"', param_hint=option)
    return name, value


def parameters(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Return the values of an option of the form NAME=VALUE, with VALUE in YAML."""
    pairs = [pair(text, "NAME=VALUE", option, empty=True) for text in texts]
    return {name: _yaml(value) for name, value in pairs}


def configured_game(name: str, settings: Sequence[str]) -> ct.Game:
    """Return a game with the parameters of the option ``--set``.

    Raises:
        CheaptalkError: there is no such game, or a parameter is invalid.
    """
    rules = ct.get_game(name).rules
    try:
        return ct.rules.errors.legal(rules, parameters(settings))
    except ct.CheaptalkError as error:
        raise ct.CheaptalkError(f"--set: {error}") from None


def roster_players(text: str) -> dict[str, Any]:
    """Return the roster entries that ROSTER:LABEL,... selects; an empty dictionary for other texts.

    Raises:
        ValueError: the roster has no such player.
    """
    name, colon, _ = text.partition(":")
    if colon and (name in ct.players.roster_names() or Path(name).suffix in (".yaml", ".yml")):
        return ct.players.rosters.chosen(text)
    return {}


def player_entry(text: str) -> Any:
    """Return a roster entry from a strategy's name, a model string, or YAML.

    >>> player_entry("linear"), player_entry("openai/gpt-4o")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'})
    >>> player_entry("{strategy: linear, start: 0.9}")
    {'strategy': 'linear', 'start': 0.9}

    Raises:
        StudyError: the text is invalid YAML.
    """
    return ct.players.seats.entry_of(_yaml(text))


def _yaml(text: str) -> Any:
    try:
        ct.models.model_strings.refuse_secrets(text)
    except ValueError as error:
        raise ct.StudyError(str(error)) from None
    try:
        return ct.yaml_files.parse_yaml(text)
    except ValueError as error:
        raise ct.StudyError(f"{text} is not valid YAML: {error}") from None


def cap_of(texts: Sequence[str]) -> ct.studies.Cap:
    """Return the caps that ``--budget`` options set, with None for the value ``none``.

    >>> cap_of(["calls=500,dollars=2.5", "tokens=none"]).model_dump(exclude_unset=True)
    {'calls': 500, 'tokens': None, 'dollars': 2.5}

    Raises:
        BadParameter: a cap is malformed, unknown or duplicated.
    """
    caps: dict[str, float | None] = {}
    for item in (part for text in texts for part in text.split(",")):
        name, _, value = (part.strip() for part in item.partition("="))
        if name in caps:
            raise _invalid_cap(f"duplicate cap: {name}")
        try:
            caps[name] = None if value == LIFTED else float(value)
        except ValueError:
            raise _invalid_cap(f'expected {CAPS}, got "{item}"') from None
    try:
        return ct.studies.Cap.model_validate(caps)
    except ValueError as error:
        raise _invalid_cap(ct.rules.errors.problem_of(error) or str(error)) from None


def _invalid_cap(reason: str) -> typer.BadParameter:
    return typer.BadParameter(reason, param_hint="--budget")


def cache_at(cache: bool | None, file: Path | None) -> Path | None:
    """Return the path of the response cache; None if the options turn the cache off."""
    if cache is False:
        return None
    return file or (usual_cache() if cache else None)


def usual_cache() -> Path:
    """Return the default path of the response cache."""
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "cheaptalk" / "replies.sqlite"
