"""Lazy loading, options and help of commands.

A command is a function. Its parameters before ``/`` are arguments, and the others, or the fields of
a dataclass, are options. Their help is in the docstring: in its section ``Args``, or in a section
whose title is their heading in the help. Annotations contain :class:`Settings`, in which ``flags``
are the names of an option that is not named like its parameter.
"""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

import cheaptalk as ct
from cheaptalk.cli.commands import COMMANDS, RENAMED, Entry
from cheaptalk.cli.shared import printing
from cheaptalk.cli.shared.settings import Defaults

EXPERT_TITLE = "Expert options"
"""Heading of the options that only ``--help-all`` shows."""
MAX_WIDTH, MAX_NAME_WIDTH = 100, 26
"""Maximum width of help, and of its column of names; a longer name gets a separate line."""
SECTION = re.compile(r"^([A-Z][\w ]+):\n((?: {4}.*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w+):(.*\n(?: {8}.*\n)*)", re.MULTILINE)


class Settings:
    """Settings of an argument or option: keyword arguments of :func:`typer.Option`."""

    def __init__(self, **values: Any) -> None:
        self.values = values


class CommandContext(typer.Context):
    """The context of a command, with defaults of options from settings files."""

    def lookup_default(self, name: str, call: bool = True) -> Any:
        has_defaults = isinstance(self.obj, Defaults) and isinstance(self.command, Command)
        for parameter in self.command.params if has_defaults else ():
            if parameter.name == name and parameter.param_type_name == "option":
                variable = parameter.envvar if isinstance(parameter.envvar, str) else None
                try:
                    return self.obj.of(parameter.opts[0].lstrip("-"), variable)
                except ct.CheaptalkError:
                    if not self.resilient_parsing:  # in completion, no error is reported
                        raise
        return None


class Command(TyperCommand):
    """A command."""

    context_class = CommandContext

    def invoke(self, ctx: Any) -> Any:
        with ctx.obj.in_force() if isinstance(ctx.obj, Defaults) else nullcontext():
            return super().invoke(ctx)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_conversion(super().get_params(ctx), ctx)

    def get_help(self, ctx: Any) -> str:
        return help_page(self, ctx)


class Group(TyperGroup):
    """A group of commands, which are imported when they are first used."""

    context_class = CommandContext

    def __init__(self, *, entries: Mapping[str, Entry] = COMMANDS, **settings: Any) -> None:
        super().__init__(**{"rich_markup_mode": None} | settings)
        self.params += common_options()
        self.entries = dict(entries)

    def summaries(self) -> dict[str, str]:
        """Return the first sentence of each command's help, by name."""
        return {name: entry.summary for name, entry in self.entries.items()}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.summaries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands and cmd_name in self.entries:
            self.commands[cmd_name] = loaded(cmd_name, self.entries[cmd_name])
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(self.get_help(ctx), err=True)
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, path = args[0], ctx.command_path
        if not (name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name)):
            new = RENAMED.get(name if ctx.parent is None else self.name or "", "")
            if new and ctx.parent is None:
                ctx.fail(f'"{path} {name}" was renamed; use "{path} {new}"')
            if new.startswith(f"{self.name} "):
                ctx.fail(f'no command "{name}" in "{path}"; did you mean "cheaptalk {new}"?')
            similar = ", ".join(map(repr, get_close_matches(name, self.list_commands(ctx))))
            advice = f"; did you mean {similar}?" if similar else ""
            ctx.fail(f"No such command {name!r}{advice}")
        return super().resolve_command(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_conversion(super().get_params(ctx), ctx)

    def get_help(self, ctx: Any) -> str:
        return help_page(self, ctx) if ctx.parent else _first_page(self)


def loaded(name: str, entry: Entry) -> Any:
    """Return a command or group by its entry."""
    module, _, function = entry.location.partition(":")
    definition = getattr(import_module(f"cheaptalk.cli.{module}"), function) if module else Group
    if isinstance(definition, type):
        return definition(name=name, help=entry.summary, entries=entry.commands)
    return command_of(name, definition)


def command_of(name: str, function: Callable[..., None], help_text: str | None = None) -> Any:
    """Return the command that a function defines; its default help is the docstring."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, cls=Command, help=help_text)(declared(function))
    command: Any = typer.main.get_command(app)
    hidden = [option for option in command.params if option.rich_help_panel == EXPERT_TITLE]
    *volume, help_all = common_options()
    command.params += [*volume, help_all] if hidden else volume
    return command


def declared(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function whose signature declares its arguments and options to Typer."""
    doc, helps = _sections(function)
    declarations, arguments, containers = [], [], {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind = parameter.annotation
        if parameter.kind is parameter.POSITIONAL_ONLY:
            arguments.append(parameter.name)
        if kind is typer.Context:
            declarations.append(parameter)
        elif is_dataclass(kind) and isinstance(kind, type):
            inner = _sections(kind)[1]
            fields = inspect.signature(kind, eval_str=True).parameters
            containers[parameter.name] = (kind, list(fields))
            declarations += [_declaration(field, inner) for field in fields.values()]
        else:
            declarations.append(_declaration(parameter, helps))

    @wraps(function)
    def command(**values: Any) -> None:
        for name, (kind, fields) in containers.items():
            values[name] = kind(**{field: values.pop(field) for field in fields})
        function(*[values.pop(name) for name in arguments], **values)

    signature = inspect.Signature(
        [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in declarations]
    )
    command.__annotations__ = {item.name: item.annotation for item in declarations}
    vars(command)["__signature__"] = signature
    command.__doc__ = doc
    return command


def _sections(documented: object) -> tuple[str, dict[str, tuple[str | None, str]]]:
    """Return a docstring without sections, and the heading and help of each parameter."""
    doc = f"{inspect.getdoc(documented) or ''}\n"
    helps = {
        name: (None if title in ("Args", "Attributes") else title, " ".join(text.split()))
        for title, body in SECTION.findall(doc)
        for name, text in ENTRY.findall(body)
    }
    return SECTION.sub("", doc).strip(), helps


def _declaration(
    parameter: inspect.Parameter, helps: Mapping[str, tuple[str | None, str]]
) -> inspect.Parameter:
    """Return a parameter that declares an argument or option to Typer."""
    kind, settings = _settings(parameter.annotation)
    panel, text = helps.get(parameter.name, (None, ""))
    settings = {"rich_help_panel": panel, "show_envvar": True} | settings
    settings["help"] = text or settings.get("help")
    name = f"--{parameter.name.rstrip('_').replace('_', '-')}"
    flags = settings.pop("flags", (name,) if kind is bool else ())
    if parameter.kind is parameter.POSITIONAL_ONLY:
        return parameter.replace(annotation=Annotated[kind, typer.Argument(**settings)])
    return parameter.replace(
        annotation=Annotated[kind, typer.Option(*flags or (name,), **settings)]
    )


def _settings(annotation: Any) -> tuple[Any, dict[str, Any]]:
    """Return a type without annotations, and the settings in its annotations."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind, settings = _settings(inner[0])
        for more in inner[1:]:
            settings = settings | more.values
        return kind, settings
    if origin is list:
        kind, settings = _settings(inner[0])
        return types.GenericAlias(list, (kind,)), settings
    if types.NoneType in inner:
        kind, settings = _settings(inner[0])
        return kind | None, settings
    return annotation, {}


def common_options() -> list[Any]:
    """Return the options of all commands and groups."""

    def options(
        quiet: Annotated[bool, _when_set(printing.quiet, "--quiet", "-q")] = False,
        verbose: Annotated[bool, _when_set(printing.verbose, "--verbose", "-v")] = False,
        help_all: Annotated[bool, _when_set(_show_full_help, "--help-all")] = False,
    ) -> None:
        """Declare the options.

        Args:
            quiet: Print only results and errors.
            verbose: Also log model calls, files read, plug-ins loaded and tracebacks of errors.
            help_all: Show this help with all commands and expert options, and exit.
        """

    app = typer.Typer(add_completion=False)
    app.command()(declared(options))
    return typer.main.get_command(app).params


def _when_set(act: Callable[[typer.Context], None], *flags: str) -> Settings:
    """Return the settings of an option that acts as soon as it is parsed."""

    def callback(context: typer.Context, value: bool) -> None:
        if value and not context.resilient_parsing:
            act(context)

    return Settings(flags=flags, callback=callback, expose_value=False, is_eager=True)


def _show_full_help(context: typer.Context) -> None:
    typer.echo(help_page(context.command, context, full=True))
    raise typer.Exit


def _without_conversion(parameters: list[Any], context: typer.Context) -> list[Any]:
    """Disable conversions that help and completion do not need, because they import pydantic."""
    for parameter in parameters:
        if not parameter.expose_value and parameter.default is None:
            parameter.default = False
        if context.resilient_parsing:
            parameter.process_value = lambda _, value: value
    return parameters


def help_page(command: Any, context: Any, *, full: bool = False) -> str:
    """Return the help of a command or group.

    The full help includes expert options and the commands of groups in the group.
    """
    usage = f"Usage: {context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    lines = _wrapped(usage, "", "    ")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines += ["", *_wrapped(paragraph, "  ", "  ")]
    sections = _command_sections(command, full=full) if isinstance(command, Group) else {}
    width = max((len(name) for rows in sections.values() for name, _ in rows), default=0)
    for heading, rows in sections.items():
        lines += ["", *_section(heading, [(name.ljust(width), text) for name, text in rows])]
    sections = _option_sections(command, context)
    hidden = [] if full else sections.pop(EXPERT_TITLE, [])
    for heading, rows in sections.items():
        lines += ["", *_section(heading, rows)]
    if hidden:
        lines += ["", f"{len(hidden)} expert options are hidden; show them with --help-all."]
    return "\n".join(lines)


def _first_page(group: Group) -> str:
    """Return the help of ``cheaptalk``, which fits on a screen of 24 lines and 80 columns."""
    lines: list[str] = []
    width = max(map(len, group.entries))
    for heading, are_groups in (
        ("Commands (usage: cheaptalk [-q|-v] COMMAND [ARGS]...; help: COMMAND --help)", False),
        ("Groups (commands: cheaptalk GROUP --help or cheaptalk --help-all)", True),
    ):
        rows = [
            (name.ljust(width), entry.summary)
            for name, entry in group.entries.items()
            if bool(entry.commands) is are_groups
        ]
        lines += _section(heading, rows)
    return "\n".join(lines)


def _command_sections(group: Group, *, full: bool) -> dict[str, list[tuple[str, str]]]:
    """Return names and summaries of commands by heading."""
    nested = {name: entry for name, entry in group.entries.items() if entry.commands and full}
    rows = [(name, text) for name, text in group.summaries().items() if name not in nested]
    sections = {"Commands": rows}
    for name, entry in nested.items():
        rows = [(inner, command.summary) for inner, command in entry.commands.items()]
        sections[f"{name}: {entry.summary.rstrip('.')}"] = rows
    return sections


def _option_sections(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the names and help of arguments and options by heading; expert options are last."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        heading = "Arguments" if parameter.param_type_name == "argument" else "Options"
        heading = getattr(parameter, "rich_help_panel", None) or heading
        if record := parameter.get_help_record(context):
            sections.setdefault(heading, []).append(record)
    expert = sections.pop(EXPERT_TITLE, None)
    options = sections.pop("Options", [])
    sections["General options" if len(sections) > 1 else "Options"] = options
    return sections if expert is None else sections | {EXPERT_TITLE: expert}


def _section(heading: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a heading, bold on a terminal, and of names with descriptions."""
    yield typer.style(f"{heading}:", bold=True)
    column = 4 + min(max(len(name) for name, _ in rows), MAX_NAME_WIDTH)
    for name, description in rows:
        first = f"  {name}"
        if len(first) + 2 > column:
            yield first
            first = ""
        yield from _wrapped(description, first.ljust(column), " " * column)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    width = max(min(shutil.get_terminal_size().columns, MAX_WIDTH) - 2, 50)
    lines = textwrap.wrap(
        " ".join(text.split()),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]
