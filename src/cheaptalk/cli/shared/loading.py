"""Lazy loading, help and completion of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._click.core import Command, Context
from typer._click.exceptions import NoArgsIsHelpError, UsageError
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup
from typer.exceptions import TyperException

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, GROUPS, RENAMED, Entry
from cheaptalk.cli.shared import printing
from cheaptalk.cli.shared.help_page import EXPERT, HelpPage
from cheaptalk.cli.shared.settings import Defaults
from cheaptalk.text import visible

MAX_SUMMARY = 1000
"""Maximum characters of a command's summary; a large value prevents shortening."""


class CommandContext(Context):
    """The Click context of a command, with defaults of options from settings files."""

    formatter_class = HelpPage

    def __init__(self, command: Command, *args: Any, **settings: Any) -> None:
        super().__init__(command, *args, **settings)
        option = command.get_help_option(self)
        if option is not None:
            option.default = False  # not None, for which typer would import pydantic

    @cached_property
    def defaults(self) -> Defaults:
        """Defaults of options from ``.env`` and the user's settings."""
        return self.parent.defaults if isinstance(self.parent, CommandContext) else Defaults()

    def lookup_default(self, name: str, call: bool = True) -> Any:
        if not isinstance(self.command, TyperGroup):
            for parameter in self.command.params:
                if parameter.name == name and parameter.param_type_name == "option":
                    variable = parameter.envvar if isinstance(parameter.envvar, str) else None
                    return self._configured(parameter.opts[0].lstrip("-"), variable)
        return None

    def _configured(self, option: str, variable: str | None) -> Any:
        try:
            return self.defaults.of(option, variable)
        except ct.CheaptalkError:
            if self.resilient_parsing:  # during completion; the command itself reports the error
                return None
            raise

    def invoke(self, callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with nullcontext() if isinstance(self.command, TyperGroup) else self.defaults.in_force():
            return super().invoke(callback, *args, **kwargs)


class Group(TyperGroup):
    """A group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except UsageError as error:
            if hint := self.renaming(args[0]):
                error.message = hint
            raise

    def renaming(self, name: str) -> str | None:
        """Return an error with the new name of a command that became this group, or None."""
        new = RENAMED.get(self.name or "", "")
        if not new.startswith(f"{self.name} "):
            return None
        return f'no command "{name}" in "cheaptalk {self.name}"; did you mean "cheaptalk {new}"?'

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(MAX_SUMMARY))
                    for name, command in commands
                    if command
                ]
            )


class LazyGroup(Group):
    """A group whose commands are imported when they are called."""

    def __init__(self, entries: Mapping[str, Entry], **settings: Any) -> None:
        super().__init__(no_args_is_help=True, rich_markup_mode=None, **settings)
        self.entries = entries
        self.commands = LoadedCommands(entries)  # type: ignore[assignment]  # is never changed
        self.context_class = CommandContext

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.entries.items()])

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        return _matching(self.entries, incomplete) + Command.shell_complete(self, ctx, incomplete)


class Commands(Group):
    """The top-level group of commands and command groups."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.params += volume_options()
        groups = {
            name: LazyGroup(group.commands, name=name, help=group.summary)
            for name, group in GROUPS.items()
        }
        self.commands = LoadedCommands(COMMANDS, groups)  # type: ignore[assignment]
        self.context_class = CommandContext

    def renaming(self, name: str) -> str | None:
        new = RENAMED.get(name)
        return new and f'"cheaptalk {name}" was renamed; use "cheaptalk {new}"'

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _reworded_errors():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _reworded_errors():
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write a one-line description of each command and group, to fit a screen of 24 lines."""
        formatter.write_usage("cheaptalk", "[--version] [--quiet|--verbose] COMMAND [ARGS]...")
        rows = [(name, entry.summary) for name, entry in COMMANDS.items()]
        groups = [(name, group.summary) for name, group in GROUPS.items()]
        width = max(len(name) for name, _ in rows + groups)
        for heading, lines in (
            ("Commands (options: cheaptalk COMMAND --help)", rows),
            ("Groups (commands: cheaptalk GROUP --help or cheaptalk --help-all)", groups),
        ):
            formatter.write_heading(heading)
            formatter.indent()
            formatter.write_dl([(name.ljust(width), summary) for name, summary in lines])
            formatter.dedent()

    def write_full_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the commands of all groups and the global options."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        sections = {"Commands": COMMANDS} | {
            f"{name}: {group.summary}": group.commands for name, group in GROUPS.items()
        }
        width = max(len(name) for entries in sections.values() for name in entries)
        for heading, entries in sections.items():
            rows = [(name.ljust(width), entry.summary) for name, entry in entries.items()]
            with formatter.section(heading.rstrip(".")):
                formatter.write_dl(rows)
        _write_options(self, ctx, formatter, expert=True)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        matching = _matching(COMMANDS | GROUPS, incomplete)
        return matching + Command.shell_complete(self, ctx, incomplete)


def _matching(entries: Mapping[str, Any], incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=entry.summary)
        for name, entry in entries.items() if name.startswith(incomplete)
    ]  # fmt: skip


def show_full_help(context: Any, enabled: bool) -> None:
    """Print the help with all options, if enabled, and exit."""
    if not enabled or context.resilient_parsing:
        return
    formatter = context.make_formatter()
    command = context.command
    if isinstance(command, Commands):
        command.write_full_help(context, formatter)
    else:
        command.format_usage(context, formatter)
        command.format_help_text(context, formatter)
        _write_options(command, context, formatter, expert=True)
    typer.echo(formatter.getvalue().rstrip("\n"))
    raise typer.Exit


def _write_options(command: Command, context: Any, formatter: Any, *, expert: bool) -> None:
    """Write arguments and options under their headings; expert options only if requested."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        is_argument = parameter.param_type_name == "argument"
        panel = getattr(parameter, "rich_help_panel", None)
        sections.setdefault("Arguments" if is_argument else panel or "Options", []).append(record)
    hidden = len(sections.get(EXPERT, ()))
    general = sections.pop("Options", None)
    if general:
        sections["Options" if len(sections) <= 1 else "General options"] = general
    if EXPERT in sections:
        sections[EXPERT] = sections.pop(EXPERT)
        if not expert:
            del sections[EXPERT]
    for heading, rows in sections.items():
        with formatter.section(heading):
            formatter.write_dl(rows)
    if hidden and not expert:
        formatter.write_paragraph()
        formatter.write_text(f"{hidden} expert options are hidden; show them with --help-all.")


@contextmanager
def _reworded_errors() -> Iterator[None]:
    """Reword errors about invalid command lines, and escape control characters."""
    try:
        yield
    except NoArgsIsHelpError:  # its message is a page of help
        raise
    except TyperException as error:
        cause, message = error.__cause__, getattr(error, "message", "")
        problem = None if cause is None else ct.rules.errors.problem_of(cause)
        error.message = visible(problem or message)
        raise


class LoadedCommands(Mapping[str, Command]):
    """A mapping of names to commands, each imported on first use, and to existing groups."""

    def __init__(
        self, entries: Mapping[str, Entry], groups: Mapping[str, Command] | None = None
    ) -> None:
        self._entries = entries
        self._loaded: dict[str, Command] = dict(groups or {})
        self._names = [*entries, *self._loaded]

    def __getitem__(self, name: str) -> Command:
        if name not in self._loaded:
            module, _, attribute = self._entries[name].location.partition(":")
            definition = getattr(import_module(f"cheaptalk.cli.{module}"), attribute)
            self._loaded[name] = command_of(name, definition)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def command_of(
    name: str, definition: Callable[..., None] | typer.Typer, help_text: str | None = None
) -> Any:
    """Return the command or group that a function or Typer app defines.

    The default help is the function's docstring.
    """
    app = definition
    if not isinstance(app, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, help=help_text)(definition)
    command = typer.main.get_command(app)
    command.name = name
    return configured(command)


def configured(command: Any) -> Any:
    """Configure the help, completion and common options of a command and its subcommands."""
    command.context_class = CommandContext
    command.rich_markup_mode = None
    if not isinstance(command, TyperGroup):
        command.params += volume_options()
        if any(getattr(option, "rich_help_panel", None) == EXPERT for option in command.params):
            command.params.append(help_all_option())
        command.format_options = partial(_write_options, command, expert=False)
    for parameter in command.params:
        _keep_incomplete_value(parameter)
    for subcommand in getattr(command, "commands", {}).values():
        configured(subcommand)
    return command


def help_all_option() -> Any:
    """Return the option that shows the full help."""

    def options(
        help_all: Annotated[
            bool,
            typer.Option(
                "--help-all",
                help="Show this help with all expert options, and exit.",
                is_eager=True,
                expose_value=False,
                callback=show_full_help,
            ),
        ] = False,
    ) -> None: ...

    app = typer.Typer(add_completion=False)
    app.command()(options)
    return typer.main.get_command(app).params[0]


def volume_options() -> list[Any]:
    """Return ``--quiet`` and ``--verbose``, which are accepted before and after a command."""

    def options(
        quiet: Annotated[
            bool,
            typer.Option(
                "--quiet",
                "-q",
                help="Print only results and errors.",
                callback=_when_set(printing.quiet),
                expose_value=False,
            ),
        ] = False,
        verbose: Annotated[
            bool,
            typer.Option(
                "--verbose",
                "-v",
                help="Also log model calls, files read, plug-ins loaded and tracebacks of errors.",
                callback=_when_set(printing.verbose),
                expose_value=False,
            ),
        ] = False,
    ) -> None: ...

    app = typer.Typer(add_completion=False)
    app.command()(options)
    return typer.main.get_command(app).params


def _when_set(turn: Callable[[bool], None]) -> Callable[[bool], None]:
    """Return an option's callback that does nothing unless the option is set."""

    def callback(value: bool) -> None:
        if value:
            turn(value)

    return callback


def _keep_incomplete_value(parameter: Any) -> None:
    """Disable the conversion of a parameter's incomplete value during completion."""
    process = parameter.process_value

    def process_value(ctx: Context, value: Any) -> Any:
        return value if ctx.resilient_parsing else process(ctx, value)

    parameter.process_value = process_value
