"""Types of arguments and options, and the parsing of their values.

Each type contains settings of :func:`typer.Option`, as :mod:`.loading` describes.
"""

from __future__ import annotations

import errno
import math
import os
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.atomic_files import is_store
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.loading import EXPERT_TITLE
from cheaptalk.cli.shared.loading import Settings as Settings

DEFAULT_STORE = "cheaptalk.sqlite"
CPUS = os.cpu_count() or 1
PORT = 8642
VIEWER = f"http://127.0.0.1:{PORT}"
"""Default address of the viewer, to which reports link."""
CAPS = "calls=N,tokens=N,dollars=X"
"""Format of ``--budget``."""
LIFTED = "none"


def file_to_write(path: Path | None) -> Path | None:
    """Return the output file that an option names."""
    if path == Path("-"):
        raise typer.BadParameter('cannot write to standard output ("-"); choose a file')
    if path is not None and is_store(path):
        raise typer.BadParameter(f"{path} is a store; choose another file name")
    return path


def check_writable(*paths: Path) -> None:
    """Create missing parent folders, and check that files can be written."""
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
    """Return the output page that an option names."""
    if path is not None and path.suffix in (".yaml", ".yml") and path.is_file():
        raise typer.BadParameter(f"{path} is an existing YAML file; choose another file name")
    return file_to_write(path)


def folder_to_write(path: Path | None) -> Path | None:
    """Return the output folder that an option names."""
    if path is not None and path.is_file():
        raise typer.BadParameter(f"{path} is a file; choose a folder")
    return file_to_write(path)


Count = Annotated[int, Settings(min=1, metavar="N")]
CountFromZero = Annotated[int, Settings(min=0, metavar="N")]
Seconds = Annotated[float, Settings(min=0, metavar="SECONDS")]
Label = Annotated[str, Settings(metavar="LABEL")]
Name = Annotated[str, Settings(metavar="NAME")]
Setting = Annotated[str, Settings(metavar="NAME=VALUE")]
GameName = Annotated[str, Settings(autocompletion=completion.games)]
PlayerSpec = Annotated[str, Settings(metavar="SPEC", autocompletion=completion.players)]
StoredStudy = Annotated[
    str, Settings(help="Name of a study in the store.", autocompletion=completion.stored_studies)
]
File = Annotated[Path, Settings(metavar="FILE")]
NewFile = Annotated[Path, Settings(callback=file_to_write)]
NewPage = Annotated[Path, Settings(callback=page_to_write)]
NewFolder = Annotated[Path, Settings(callback=folder_to_write)]
Store = Annotated[
    str, Settings(help="Use this store: a SQLite file or a database URL.", envvar="CHEAPTALK_STORE")
]
Json = Annotated[bool, Settings(help="Print the result as JSON.")]
Study = Annotated[
    str,
    Settings(help="Study file, preset, or study in the store.", autocompletion=completion.studies),
]
Reason = Annotated[
    str | None,
    Settings(help="Correct texts that participants have read, for this reason."),
]
Player = Annotated[
    list[str] | None,
    Settings(
        help="Add or replace a player: a strategy, a model, e.g. openai/gpt-4o, or settings in "
        "YAML, e.g. '{model: openai/gpt-4o, temperature: 1}'. Repeatable.",
        metavar="LABEL=SPEC",
        rich_help_panel="Scope",
        autocompletion=completion.labelled_players,
    ),
]
Roster = Annotated[
    list[str] | None,
    Settings(
        help="Add all players of a roster (a name or a YAML file), or only the players with "
        "these labels. Repeatable.",
        metavar="NAME[:LABEL,...]",
        rich_help_panel="Scope",
        autocompletion=completion.rosters,
    ),
]
Replace = Annotated[
    list[str] | None,
    Settings(
        help="Replace a model with another model, e.g. gpt-4=openai/gpt-5-mini; OLD may also be "
        "the label of a player. Repeatable.",
        metavar="OLD=MODEL",
        rich_help_panel="Scope",
    ),
]
Parameters = Annotated[
    list[Setting] | None, Settings(help="Set a parameter of the game, in YAML. Repeatable.")
]
PromptStyle = Annotated[
    Name | None,
    Settings(
        flags=("--prompt-style",),
        help="Use this prompt style or template file, e.g. mine/bargaining.jinja; cheaptalk game "
        "list GAME lists a game's styles.",
        autocompletion=completion.styles,
        show_default="the default of the player or the game",
    ),
]
Seat = Annotated[
    str | None,
    Settings(
        help="Choose this seat, e.g. bob or player_3.",
        autocompletion=completion.seats,
        show_default="the first seat",
    ),
]
Hyperparameter = Annotated[
    list[Setting] | None,
    Settings(flags=("--hyperparameter",), help="Set a hyperparameter, in YAML. Repeatable."),
]
RubricName = Annotated[
    str,
    Settings(
        flags=("--rubric",),
        help="Use this rubric: claims, hallucination, honesty, promises or a YAML file.",
        autocompletion=completion.rubrics,
    ),
]
Prices = Annotated[
    File | None,
    Settings(
        help="Read prices from this YAML file; they take precedence over built-in prices. "
        "Default: $CHEAPTALK_PRICES, or prices.yaml in this folder.",
        show_default=False,
    ),
]
Cache = Annotated[
    bool | None,
    Settings(flags=("--cache/--no-cache",), help="Reuse model responses from the response cache."),
]
CacheFile = Annotated[
    Path | None,
    Settings(
        help="Turn the response cache on, and store it in this file.",
        envvar="CHEAPTALK_CACHE",
        show_default=str(Path("~/.cache/cheaptalk/replies.sqlite")),
    ),
]
Concurrency = Annotated[
    Count | None,
    Settings(
        help="Play up to N matches with models at once.", show_default="64; 10,000 in batches"
    ),
]
NoEstimate = Annotated[bool, Settings(help="Skip the cost estimate; budgets still apply.")]
Track = Annotated[
    list[str] | None,
    Settings(
        help="Log to an experiment tracker: tensorboard:FOLDER, wandb:PROJECT or mlflow:URI. "
        "Repeatable.",
        metavar="NAME[:TARGET]",
    ),
]
Yes = Annotated[
    bool, Settings(flags=("--yes", "-y"), help="Continue without asking for confirmation.")
]
Published = Annotated[
    bool, Settings(help="Compute metrics as the code of the published systems does.")
]
DrawSeed = Annotated[int, Settings(min=0, help="Set the random seed of the bootstrap draws.")]
Port = Annotated[int, Settings(help="Listen on this port; 0 picks a free port.", min=0, max=65535)]
Viewer = Annotated[
    str, Settings(help="Link the report to the viewer at this address.", metavar="URL")
]
RawCells = Annotated[bool, Settings(help="Do not escape spreadsheet formulas in CSV cells.")]
Workers = Annotated[Count, Settings(help="Use N processes.", show_default="one per CPU core")]


SPEED, EXPERT = (Settings(rich_help_panel=title) for title in ("Speed and retries", EXPERT_TITLE))


@dataclass(frozen=True)
class PlayOptions:
    """The options of commands that run a study.

    Scope:
        max_matches: Play at most N matches now, spread over games and pairings.
        game: Only play this game of the study. Repeatable.

    Budget:
        max_dollars: Stop before this run spends more than X dollars.
        max_calls: Stop after N model calls in this run.
        max_tokens: Stop before this run uses more than N tokens.
        batch: Use providers' batch APIs, which cost less but take longer: one batch per move.

    Speed and retries:
        workers: Play scripted matches in N processes.
        retry_timeout: Keep retrying an unavailable model server for this long.

    Attributes:
        allow_failures: Exit with status 0 even if matches failed.

    Expert options:
        no_wait: With --batch: submit the batches and exit. Run the command again for results.
        poll_interval: With --batch: wait this long between two checks of the batches.
        cluster: Run matches on a Ray cluster: ray (local) or ray://HOST:10001.
        agent_server: Accept remote agents at this address; port 0 picks a free port.
        telemetry: Send OpenTelemetry traces and metrics; configure them with OTEL_* variables.
    """

    max_matches: Count | None = None
    game: Annotated[list[GameName] | None, Settings(metavar="NAME")] = None
    max_dollars: Annotated[float | None, Settings(metavar="X")] = None
    max_calls: Count | None = None
    max_tokens: Count | None = None
    batch: bool = False
    concurrency: Annotated[Concurrency, SPEED] = None
    workers: Annotated[Count, Settings(show_default="one per CPU core")] = CPUS
    retry_timeout: Seconds = 600
    cache: Annotated[Cache, SPEED] = None
    allow_failures: bool = False
    yes: Yes = False
    json: Json = False
    cache_file: Annotated[CacheFile, EXPERT] = None
    prices: Annotated[Prices, EXPERT] = None
    no_estimate: Annotated[NoEstimate, EXPERT] = False
    no_wait: bool = False
    poll_interval: Annotated[float, Settings(min=0.01, metavar="SECONDS")] = 30
    cluster: Annotated[str | None, Settings(metavar="ADDRESS")] = None
    agent_server: Annotated[
        str | None,
        Settings(metavar="HOST:PORT", show_default="127.0.0.1:8140 if the study has remote agents"),
    ] = None
    track: Annotated[Track, EXPERT] = None
    telemetry: Annotated[bool, Settings(envvar="CHEAPTALK_TELEMETRY")] = False

    def __post_init__(self) -> None:
        dollars = self.max_dollars
        if self.no_wait and not self.batch:
            raise typer.BadParameter("requires --batch", param_hint="--no-wait")
        if dollars is not None and not 0 < dollars < math.inf:
            raise typer.BadParameter(
                f"expected an amount above 0, got {dollars:g}", param_hint="--max-dollars"
            )
        if self.cluster is not None:
            ct.studies.check_address(self.cluster)

    @property
    def in_part(self) -> bool:
        """Whether only a part of the study is to be played."""
        return self.max_matches is not None or bool(self.game)

    @property
    def cache_at(self) -> Path | None:
        """Path of the response cache; None if the cache is off."""
        return cache_at(self.cache, self.cache_file)


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
    """Split an option's value at the first or last equals sign; ``form`` is the expected format.

    The right side may be empty only if ``empty`` is true.
    """
    parts = text.rpartition("=") if last else text.partition("=")
    name, equals, value = (part.strip() for part in parts)
    if not (name and equals and (value or empty)):
        raise typer.BadParameter(f'expected {form}, got "{text}"', param_hint=option)
    return name, value


def replacements(texts: Sequence[str]) -> dict[str, str]:
    """Return the new models of ``--replace`` by old model or label."""
    new_models: dict[str, str] = {}
    for text in texts:
        old, new = pair(text, "OLD=MODEL, e.g. gpt-4=openai/gpt-5-mini", "--replace")
        if old in new_models:
            raise typer.BadParameter(f'"{old}" is replaced twice', param_hint="--replace")
        new_models[old] = new
    return new_models


def parameters(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Return the values of an option of the form NAME=VALUE, with VALUE in YAML."""
    pairs = [pair(text, "NAME=VALUE", option, empty=True) for text in texts]
    return {name: _yaml(value) for name, value in pairs}


def configured_game(name: str, settings: Sequence[str]) -> ct.Game:
    """Return a game with the parameters of the option ``--set``."""
    rules = ct.get_game(name).rules
    try:
        return ct.rules.errors.legal(rules, parameters(settings))
    except ct.CheaptalkError as error:
        raise ct.CheaptalkError(f"--set: {error}") from None


def roster_players(text: str) -> dict[str, Any]:
    """Return the roster entries that ROSTER:LABEL,... selects; none for other texts."""
    name, colon, _ = text.partition(":")
    if colon and (name in ct.players.roster_names() or Path(name).suffix in (".yaml", ".yml")):
        return ct.players.rosters.chosen(text)
    return {}


def player_entry(text: str) -> Any:
    """Return a roster entry from a strategy's name, a model string, or YAML.

    Paths of template files are relative to the current folder.

    >>> player_entry("linear"), player_entry("openai/gpt-4o")
    ({'strategy': 'linear'}, {'model': 'openai/gpt-4o'})
    >>> player_entry("{strategy: linear, start: 0.9}")
    {'strategy': 'linear', 'start': 0.9}
    """
    return ct.styles.template_files.with_texts(ct.players.seats.entry_of(_yaml(text)), Path())


def _yaml(text: str) -> Any:
    try:
        ct.models.model_strings.refuse_secrets(text)
    except ValueError as error:
        raise ct.studies.StudyError(str(error)) from None
    try:
        return ct.yaml_files.parse_yaml(text)
    except ValueError as error:
        raise ct.studies.StudyError(f"{text} is not valid YAML: {error}") from None


def cap_of(texts: Sequence[str]) -> ct.studies.Cap:
    """Return the caps that ``--budget`` options set, with None for the value ``none``.

    >>> cap_of(["calls=500,dollars=2.5", "tokens=none"]).model_dump(exclude_unset=True)
    {'calls': 500, 'tokens': None, 'dollars': 2.5}
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
