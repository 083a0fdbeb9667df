"""MkDocs hooks that generate reference pages from the code."""

import html
import inspect
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
from docs.sample_matches import match_section, sample_matches
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from cheaptalk import models
from cheaptalk.cli.main import app
from cheaptalk.models.providers import IN_URL
from cheaptalk.records.store import schema
from cheaptalk.records.store.migration import VIEWS
from cheaptalk.rules import GameSpec, Quantity, field_meanings, field_ranges, games, strategies
from cheaptalk.rules.game_spec import LANGUAGES, PEOPLE
from cheaptalk.styles import blocks
from cheaptalk.yaml_files import as_yaml

ROOT = Path(__file__).parents[1]
COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md",
          "CHANGELOG.md": "CHANGELOG.md", "SECURITY.md": "SECURITY.md"}  # fmt: skip
"""Files outside ``docs/`` that are also pages, with the names of their pages."""
GAMES = "reference/games"
CLI = "reference/command-line.md"
TABLES = "reference/store-tables.md"
ENVIRONMENT = "reference/environment.md"
VARIABLES = {
    "CHEAPTALK_STORE": "The default store, if `--store` is not set.",
    "CHEAPTALK_CACHE": "Enables the response [cache](../experiments/limit-costs.md) in this file.",
    "CHEAPTALK_TELEMETRY": "Enables [telemetry](../operations/observability.md).",
    "CHEAPTALK_PUBLIC_MODELS_ONLY": """Restricts model calls to public addresses. A laboratory sets
        it for its runs unless it is started with `--allow-private-hosts`.""",
    "CHEAPTALK_AGENT_TOKENS": """The tokens of a run's [remote
        agents](../models/remote-agents.md), as a comma-separated list of `NAME=TOKEN`. The default
        is random tokens.""",
    "CHEAPTALK_AGENT_TOKEN": """The token of a [remote agent](../models/remote-agents.md), for
        `play_as_remote_agent` and `cheaptalk model mcp`.""",
    "WANDB_MODE": """With `online`, [Weights & Biases](../operations/observability.md) uploads
        during the run. The default is `offline`.""",
    "RAY_ADDRESS": """The head of the [Ray cluster](../operations/scale.md) that `--on ray`
        joins.""",
    "CHEAPTALK_PROVIDERS": """The file of your own [providers](../models/language-models.md).
        Leave it empty to use none.""",
    "CHEAPTALK_PRICES": """The file of your own [prices](../experiments/limit-costs.md). The default
        is `prices.yaml` in the current folder, if it exists.""",
    "XDG_CONFIG_HOME": """The folder of `cheaptalk/settings.toml` and `cheaptalk/providers.yaml`,
        unless other files are set. The default is `~/.config`.""",
    "CHEAPTALK_SETTINGS": """The file of [settings](../operations/command-line.md). The default is
        `cheaptalk/settings.toml` in the configuration folder.""",
    "COMP_WORDS": "Set by the shell during completion: the words of the command line.",
    "COMP_CWORD": "Set by the shell during completion: the index of the current word.",
    "XDG_CACHE_HOME": """The folder of the cache, unless its file is set. The default is
        `~/.cache`.""",
}
"""The variables that the package reads, and their effects."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add every registered game to the navigation."""
    pages = [{title(game_spec): f"{GAMES}/{game_spec.name}.md"} for game_spec in games().values()]
    for section in config.nav or ():
        for name, entries in section.items():
            if name == "Reference":
                position = entries.index({"Games": f"{GAMES}/index.md"})
                entries[position] = {"Games": [f"{GAMES}/index.md", *pages]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are copied from other files or generated from the code."""
    for source, page in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    for page, lines in generated_pages():
        text = "\n".join(lines) + "\n"
        if placeholder := files.get_file_from_path(
            page
        ):  # exists only for readers of the repository
            files.remove(placeholder)
        files.append(File.generated(config, page, content=text))
    return files


def generated_pages() -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the generated pages, as name and lines."""
    yield f"{GAMES}/index.md", index_page()
    for game_spec in games().values():
        yield f"{GAMES}/{game_spec.name}.md", game_page(game_spec)
    yield CLI, cli_page()
    yield TABLES, tables_page()
    yield ENVIRONMENT, environment_page()


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """Yield the lines of a table, followed by an empty line."""
    head = list(head)
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        cells = (" ".join(str(cell).split()).replace("|", "&#124;") for cell in row)
        yield "| " + " | ".join(cells) + " |"
    yield ""


def code(text: object) -> str:
    """Return a value as inline code."""
    return f"<code>{html.escape(str(text))}</code>"


def title(game_spec: GameSpec) -> str:
    """Return a game's name as a heading."""
    return game_spec.name.replace("_", " ").capitalize()


def first_line(documented: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def index_page() -> Iterator[str]:
    """Yield the list of games, with the consequence of a forfeit in each."""
    yield "# Games\n"
    rows = [
        [f"[{game_spec.name}]({game_spec.name}.md)", ", ".join(game_spec.rules.roles),
        len(game_spec.rules().seats),
         first_line(game_spec.rules)]
        for game_spec in games().values()
    ]  # fmt: skip
    yield from table(["game", "roles", "seats", "description"], rows)
    yield "The number of seats applies to the default parameters.\n"
    yield "## Forfeits\n"
    yield "The consequence of a player's final failure to give a valid answer:\n"
    rows = [[game_spec.name, game_spec.rules.forfeit] for game_spec in games().values()]
    yield from table(["game", "consequence"], rows)


def game_page(game_spec: GameSpec) -> Iterator[str]:
    """Yield the page of a game."""
    rules = game_spec.rules
    yield f"# {title(game_spec)}\n"
    yield inspect.getdoc(rules) or ""
    yield f"\nPython class: {code(f'ct.games.{rules.__name__}')}, version {rules.version}.\n"
    seats = ", ".join(map(code, rules().seats))
    yield f"Roles: {', '.join(rules.roles)}. Seats (default parameters): {seats}.\n"
    yield "## Parameters\n"
    yield from table(["name", "default", "values", "meaning"], parameter_rows(game_spec))
    yield "## Payoffs\n"
    yield f"{inspect.getdoc(rules.payoffs)}\n"
    units = rules.payoff_units()
    yield "Bounds of a seat's payoff (default parameters):\n"
    bounds = [
        [role, *map(as_yaml, pair), units[role]] for role, pair in rules().payoff_bounds().items()
    ]
    yield from table(["role", "minimum", "maximum", "unit"], bounds)
    yield f"Forfeit: {rules.forfeit}\n"
    yield "## Events and actions\n"
    yield (
        "Players receive events and answer with actions. The fields of an event are the *slots* of "
        "its block in [template files](../../models/prompts.md#write-a-prompt-style).\n"
    )
    yield from table(["event or action", "block", "description", "fields"], event_rows(game_spec))
    yield "## Sample match { #a-match }\n"
    yield from match_section(sample_matches()[game_spec.name])
    yield "## Metrics\n"
    modules = (inspect.getmodule(metric.of) for metric in game_spec.metrics.values())
    for module in dict.fromkeys(modules):
        yield f"{inspect.getdoc(module)}\n"
    yield from quantity_section(game_spec.metrics.values())
    if game_spec.series:
        yield "## Per-round metrics\n"
        yield from quantity_section(game_spec.series.values())
    yield "## Strategies\n"
    yield from strategies_section(game_spec)
    yield "## Prompt styles\n"
    yield from styles_section(game_spec)


def parameter_rows(game_spec: GameSpec) -> Iterator[list[str]]:
    """Yield a game's parameters, with defaults as in a study file."""
    defaults, legal = game_spec.rules(), field_ranges(game_spec.rules)
    for name, meaning in field_meanings(game_spec.rules).items():
        yield [code(name), code(as_yaml(getattr(defaults, name))), code(legal[name]), meaning]


def event_rows(game_spec: GameSpec) -> Iterator[list[str]]:
    """Yield a game's events and actions with their template blocks and fields."""
    fields = {action.__name__: action.model_fields for action in game_spec.rules.actions}
    for block in blocks(game_spec).values():
        slots = [f"{name}: {kind}" for name, (kind, _) in block.own.items()]
        names = ", ".join(map(code, fields.get(block.kind, slots)))
        yield [code(block.kind), code(block.name), block.meaning, names]


def quantity_section(quantities: Collection[Quantity[Any]]) -> Iterator[str]:
    """Yield a table of metrics or series, and the rest of their docstrings."""
    rows = [
        [
            code(quantity.name),
            quantity.meaning,
            quantity.unit,
            first_line(quantity.published) if quantity.published else "",
        ]
        for quantity in quantities
    ]
    yield from table(["name", "meaning", "unit", "published variant"], rows)
    for quantity in quantities:
        details = (inspect.getdoc(quantity.of) or "").partition("\n")[2].strip()
        if details:
            yield f"{code(quantity.name)}: {details}\n"


def strategies_section(game_spec: GameSpec) -> Iterator[str]:
    """Yield a table of a game's strategies, then each with its settings and source."""
    by_name = strategies(game_spec.name)
    rows = []
    for name, strategy in by_name.items():
        settings = ", ".join(code(f"{key}: {as_yaml(value)}") for key, value in strategy.settings())
        link = f"[{code(name)}](#{name})"
        rows.append([link, ", ".join(strategy.roles), settings, strategy.meaning])
    yield from table(["strategy", "roles", "settings", "description"], rows)
    for name, strategy in by_name.items():
        yield f"### {name} {{ #{name} }}\n"
        function = strategy.function
        if "<locals>" in function.__qualname__:  # made by a function that several games share
            yield from documented(inspect.getdoc(function) or "")
        else:
            yield f"::: {function.__module__}.{function.__qualname__}\n"


def documented(docstring: str) -> Iterator[str]:
    """Yield a docstring as text, with its arguments as a list."""
    text, _, arguments = docstring.partition("Args:\n")
    yield f"{text.strip()}\n"
    for argument in re.split(r"^    (?=\w+: )", arguments, flags=re.MULTILINE)[1:]:
        name, _, meaning = " ".join(argument.split()).partition(": ")
        yield f"- {code(name)}: {meaning}"
    yield ""


def styles_section(game_spec: GameSpec) -> Iterator[str]:
    """Yield the templates of a game's prompt styles."""
    for name in game_spec.written_styles:
        file = game_spec.styles[name]
        path = game_spec.words / file.template
        if path.exists():
            yield f"Prompt style `{name}`, answer format {file.codec}:\n"
        else:
            path = game_spec.words / f"{PEOPLE}.jinja"
            names = ", ".join(f"`{language}`" for language in LANGUAGES)
            yield f"Prompt styles {names}, which share a template:\n"
        yield f"````jinja\n{path.read_text(encoding='utf-8').rstrip()}\n````\n"


def tables_page() -> Iterator[str]:
    """Yield the tables of a store with their columns, and the statements that create its views."""
    yield "# Tables of a store\n"
    yield "To query a store, use its [views](sql.md), which are easier to use than its tables.\n"
    for store_table in schema.metadata.sorted_tables:
        yield f"## {store_table.name}\n"
        rows = [
            [code(column.name), column.type, "yes" if column.nullable else "", column.comment or ""]
            for column in store_table.c
        ]
        yield from table(["column", "type", "nullable", "meaning"], rows)
    yield "## Views\n"
    yield "```sql\n" + "\n\n".join(f"{view};" for view in VIEWS["sqlite"]) + "\n```\n"


def environment_page() -> Iterator[str]:
    """Yield the environment variables of the package and of the providers."""
    yield "# Environment variables\n"
    yield "cheaptalk reads these variables:\n"
    rows = [[code(variable), meaning] for variable, meaning in VARIABLES.items()]
    yield from table(["variable", "meaning"], rows)
    yield "## API keys and addresses\n"
    yield (
        "cheaptalk sends an API key only to its provider's address. `cheaptalk store doctor` shows "
        "which variables are set, but not their values.\n"
    )
    rows = []
    for name, provider in models.PROVIDERS.items():
        contents = [(provider.key, "API key" if provider.needs_key else "API key (optional)")]
        contents += [(variable, "part of its URL") for variable in IN_URL.findall(provider.url)]
        rows += [
            [code(name), code(variable), content] for variable, content in contents if variable
        ]
    yield from table(["provider", "variable", "content"], rows)


def cli_page() -> Iterator[str]:
    """Yield every command with its arguments and options."""
    yield "# Command line\n"
    yield (
        "`python -m cheaptalk` is equivalent to `cheaptalk`. For completion, settings and `.env` "
        "files, see [Set up the command line](../operations/command-line.md).\n"
    )
    yield from table(
        ["exit status", "meaning"],
        [[0, "success"], [1, "something failed or is incomplete"], [2, "invalid input"],
         [3, "calls are pending in a provider's batch; run the command again later"],
         [129, "stopped by SIGHUP: the terminal was closed"], [130, "stopped by Ctrl-C"],
         [141, "stopped because its output was closed"], [143, "stopped by SIGTERM"]],
    )  # fmt: skip
    yield from command_section(typer.main.get_command(app), "cheaptalk", None)


def command_section(command: Any, name: str, parent: Any) -> Iterator[str]:
    """Yield a command, or all commands of a group."""
    context = typer.Context(command, info_name=name, parent=parent)
    if hasattr(command, "list_commands"):
        for subcommand_name in command.list_commands(context):
            subcommand = command.get_command(context, subcommand_name)
            yield from command_section(subcommand, subcommand_name, context)
        return
    yield f"## {context.command_path}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield f"```text\n{' '.join(command.get_usage(context).split()[1:])}\n```\n"
    records = [parameter.get_help_record(context) for parameter in command.params]
    rows = [[code(record[0]), record[1]] for record in records if record]
    if rows:
        yield from table(["argument or option", "meaning"], rows)
