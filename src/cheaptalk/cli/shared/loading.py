"""How commands are loaded, each when it is used, and how they complete and explain themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._click.core import Command, Context
from typer._click.exceptions import NoArgsIsHelpError
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup
from typer.exceptions import TyperException

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, GROUPS
from cheaptalk.cli.shared import printing
from cheaptalk.cli.shared.help_page import HelpPage
from cheaptalk.cli.shared.settings import Defaults
from cheaptalk.text import visible

LONGEST = 1000
"""Characters of a sentence, which none has."""


class CommandContext(Context):
    """A command that is being called."""

    formatter_class = HelpPage

    def __init__(self, command: Command, *given: Any, **more: Any) -> None:
        super().__init__(command, *given, **more)
        option = command.get_help_option(self)
        if option is not None:
            option.default = False  # not None, which typer loads pydantic to read

    @cached_property
    def defaults(self) -> Defaults:
        """What options are where they are not given, for all of a command line."""
        return self.parent.defaults if isinstance(self.parent, CommandContext) else Defaults()

    def lookup_default(self, name: str, call: bool = True) -> Any:
        """What the files of settings say of an option."""
        for one in () if isinstance(self.command, TyperGroup) else self.command.params:
            if one.name == name and one.param_type_name == "option":
                variable = one.envvar if isinstance(one.envvar, str) else None
                return self._said(one.opts[0].lstrip("-"), variable)
        return None

    def _said(self, option: str, variable: str | None) -> Any:
        try:
            return self.defaults.of(option, variable)
        except ct.CheaptalkError:
            if self.resilient_parsing:  # TAB was pressed; the command says what is wrong
                return None
            raise

    def invoke(self, callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a command with what is taken of ``.env`` in its environment."""
        with nullcontext() if isinstance(self.command, TyperGroup) else self.defaults.in_force():
            return super().invoke(callback, *args, **kwargs)


class Group(TyperGroup):
    """A group of commands, whose help says in whole sentences what each does."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with the first sentence of each one's help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(LONGEST)) for name, one in found if one]
            )


class Commands(Group):
    """The group of all commands: each is loaded when it is asked for."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.params += volume_options()
        self.commands = Loaded()  # type: ignore[assignment]  # nobody adds to it
        self.context_class = CommandContext

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before a command."""
        with _worded():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _worded():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, in their order."""
        return list(COMMANDS)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the headings of their groups, without loading any."""
        widest = max(map(len, COMMANDS))
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                rows = [(name.ljust(widest), entry.does) for name, entry in commands.items()]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[CompletionItem]:
        """The commands and options that begin so, without loading any."""
        found = [
            CompletionItem(name, help=entry.does)
            for name, entry in COMMANDS.items() if name.startswith(incomplete)
        ]  # fmt: skip
        return found + Command.shell_complete(self, ctx, incomplete)


@contextmanager
def _worded() -> Iterator[None]:
    """Word what is wrong with a command line as we do, and show what was typed by its codes."""
    try:
        yield
    except NoArgsIsHelpError:  # its message is a page of help
        raise
    except TyperException as error:
        cause, message = error.__cause__, getattr(error, "message", "")
        problem = None if cause is None else ct.rules.errors.problem_of(cause)
        error.message = visible(problem or message)
        raise


class Loaded(Mapping[str, Command]):
    """The commands by name, loaded one by one."""

    def __init__(self) -> None:
        self._loaded: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._loaded:
            module, _, attribute = COMMANDS[name].where.partition(":")
            found = getattr(import_module(f"cheaptalk.cli.{module}"), attribute)
            self._loaded[name] = command_of(name, found)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def command_of(
    name: str, made_of: Callable[..., None] | typer.Typer, about: str | None = None
) -> Any:
    """A command that is made of a function, or a group of commands.

    Args:
        about: what it says of itself; by default the function's docstring.
    """
    app = made_of
    if not isinstance(app, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, help=about)(made_of)
    command = typer.main.get_command(app)
    command.name = name
    return dressed(command)


def dressed(command: Any) -> Any:
    """A command whose help is laid out as all are, with those below it."""
    command.context_class = CommandContext
    command.rich_markup_mode = None
    if not isinstance(command, TyperGroup):
        command.params += volume_options()
    for parameter in command.params:
        _as_typed(parameter)
    for below in getattr(command, "commands", {}).values():
        dressed(below)
    return command


def volume_options() -> list[Any]:
    """The options by which a command says less or more; they may stand before its name, too."""

    def options(
        quiet: Annotated[
            bool,
            typer.Option(
                "--quiet",
                "-q",
                help="Print nothing but results and errors.",
                callback=_if_given(printing.quiet),
                expose_value=False,
            ),
        ] = False,
        verbose: Annotated[
            bool,
            typer.Option(
                "--verbose",
                "-v",
                help="Say what is done: files and plug-ins that are read, "
                "calls, and where an error arose.",
                callback=_if_given(printing.verbose),
                expose_value=False,
            ),
        ] = False,
    ) -> None: ...

    app = typer.Typer(add_completion=False)
    app.command()(options)
    return typer.main.get_command(app).params


def _if_given(turn: Callable[[bool], None]) -> Callable[[bool], None]:
    """What an option does that may be given at several places; where it is not it does nothing."""

    def given(value: bool) -> None:
        if value:
            turn(value)

    return given


def _as_typed(parameter: Any) -> None:
    """Leave a parameter's value as it was typed while a command line is only completed."""
    usual = parameter.process_value

    def process_value(ctx: Context, value: Any) -> Any:
        return value if ctx.resilient_parsing else usual(ctx, value)

    parameter.process_value = process_value
