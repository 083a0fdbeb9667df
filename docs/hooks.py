"""Pages of the documentation that are made from the code itself, and so cannot go stale.

MkDocs calls the functions whose names begin with ``on_``.
"""

import html
import inspect
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
from cheaptalk.records.store.views import VIEWS
from cheaptalk.rules import GameBox, Quantity, field_meanings, field_ranges, games, strategies
from cheaptalk.yaml_files import as_yaml

ROOT = Path(__file__).parents[1]
COPIED = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md",
          "CHANGELOG.md": "CHANGELOG.md", "SECURITY.md": "SECURITY.md"}  # fmt: skip
"""Files beside ``docs/`` that are pages as well, and the pages they become."""
GAMES = "reference/games"
CLI = "reference/command-line.md"
TABLES = "reference/store-tables.md"
ENVIRONMENT = "reference/environment.md"
VARIABLES = {
    "CHEAPTALK_STORE": "the store, as `--store` names it, which counts more",
    "CHEAPTALK_CACHE": "turns the [cache](../how-to/cache.md) on, and names its file",
    "CHEAPTALK_TELEMETRY": "turns [telemetry](../how-to/trace-a-run.md) on",
    "CHEAPTALK_PUBLIC_MODELS_ONLY": """lets calls reach only public addresses; a
        served laboratory sets it for its runs unless it is started with `--private-models`""",
    "CHEAPTALK_GUEST_TOKENS": """the tokens of a run's [guests](../how-to/let-an-agent-come.md),
        `NAME=TOKEN` with commas between; else they are made at random""",
    "CHEAPTALK_GUEST_TOKEN": """the token of a [guest](../how-to/let-an-agent-come.md) itself, where
        `play_as_guest` and `cheaptalk mcp` are given none""",
    "WANDB_MODE": """`online` lets [Weights & Biases](../how-to/track-a-run.md) send at once; else
        it is `offline`""",
    "RAY_ADDRESS": """the head of the [Ray cluster](../how-to/run-on-many-machines.md) that
        `--on ray` joins""",
    "CHEAPTALK_PROVIDERS": """your file of
        [providers](../how-to/run-a-model.md#a-server-of-your-own); empty for none""",
    "CHEAPTALK_PRICES": """your file of [prices](../how-to/budgets.md); else `prices.yaml` in the
        folder where you are, if it is there""",
    "XDG_CONFIG_HOME": """the folder of settings, which holds `cheaptalk/settings.toml` and
        `cheaptalk/providers.yaml`, where no other files are named; else `~/.config`""",
    "CHEAPTALK_SETTINGS": """your file of [settings](../how-to/set-up-the-command-line.md); else
        `cheaptalk/settings.toml` in the folder of settings""",
    "COMP_WORDS": "what was typed when TAB was pressed, as the shell says",
    "COMP_CWORD": "at which word TAB was pressed, as the shell says",
    "XDG_CACHE_HOME": "the folder of the cache, where its file is not named; else `~/.cache`",
}
"""The variables that the package reads by itself, and what each does."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give every registered game its place in the navigation."""
    pages = [{title(box): f"{GAMES}/{box.name}.md"} for box in games().values()]
    for section in config.nav or ():
        for name, entries in section.items():
            if name == "Reference":
                place = entries.index({"Games": f"{GAMES}/index.md"})
                entries[place] = {"Games": [f"{GAMES}/index.md", *pages]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from other files and from the code."""
    for source, page in COPIED.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    for page, lines in made_pages():
        text = "\n".join(lines) + "\n"
        files.append(File.generated(config, page, content=text))
    return files


def made_pages() -> Iterator[tuple[str, Iterator[str]]]:
    """The pages that are made from the code: name and lines."""
    yield f"{GAMES}/index.md", index_page()
    for box in games().values():
        yield f"{GAMES}/{box.name}.md", game_page(box)
    yield CLI, cli_page()
    yield TABLES, tables_page()
    yield ENVIRONMENT, environment_page()


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A table, and an empty line after it."""
    head = list(head)
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        cells = (" ".join(str(cell).split()).replace("|", "&#124;") for cell in row)
        yield "| " + " | ".join(cells) + " |"
    yield ""


def code(text: object) -> str:
    """Something as code."""
    return f"<code>{html.escape(str(text))}</code>"


def title(box: GameBox) -> str:
    """A game's name as a heading."""
    return box.name.replace("_", " ").capitalize()


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def index_page() -> Iterator[str]:
    """The games in a table, and what a failure to answer means in each."""
    yield "# Games\n"
    rows = [
        [f"[{box.name}]({box.name}.md)", ", ".join(box.rules.roles), len(box.rules().places),
         first_line(box.rules)]
        for box in games().values()
    ]  # fmt: skip
    yield from table(["game", "roles", "places", "what it is"], rows)
    yield "The number of places is that of the defaults.\n"
    yield "## Forfeits\n"
    yield "What it means that a seat finally fails to answer:\n"
    yield from table(["game", "forfeit"], [[b.name, b.rules.forfeit] for b in games().values()])


def game_page(box: GameBox) -> Iterator[str]:
    """All there is to know about a game."""
    rules = box.rules
    yield f"# {title(box)}\n"
    yield inspect.getdoc(rules) or ""
    yield f"\nThe rules are of version {rules.version}. Roles: {', '.join(rules.roles)}."
    yield f"In Python they are {code(f'ct.games.{rules.__name__}')}.\n"
    places = ", ".join(map(code, rules().places))
    yield f"With the defaults the places, each filled by one player, are {places}.\n"
    yield "## Parameters\n"
    yield from table(["name", "default", "legal", "meaning"], parameter_rows(box))
    yield "## Payoffs\n"
    yield f"{inspect.getdoc(rules.payoffs)}\n"
    units = rules.payoff_units()
    yield "With the defaults the payoff of a place, over all its seats together, lies in:\n"
    bounds = [
        [role, *map(as_yaml, pair), units[role]] for role, pair in rules().payoff_bounds().items()
    ]
    yield from table(["place of role", "from", "to", "in"], bounds)
    yield f"Forfeit: {rules.forfeit}\n"
    yield "## What players are asked and told\n"
    yield from table(["event or action", "what it says", "fields"], word_rows(box))
    yield "## A match\n"
    yield from match_section(sample_matches()[box.name])
    yield "## Measures\n"
    for module in dict.fromkeys(inspect.getmodule(one.of) for one in box.measures.values()):
        yield f"{inspect.getdoc(module)}\n"
    yield from measured_section(box.measures.values())
    if box.series:
        yield "## By round\n"
        yield from measured_section(box.series.values())
    yield "## Strategies\n"
    yield from strategies_section(box)
    yield "## Words\n"
    yield from words_section(box)


def parameter_rows(box: GameBox) -> Iterator[list[str]]:
    """A game's parameters, their defaults as a study file has them."""
    defaults, legal = box.rules(), field_ranges(box.rules)
    for name, meaning in field_meanings(box.rules).items():
        yield [code(name), code(as_yaml(getattr(defaults, name))), code(legal[name]), meaning]


def word_rows(box: GameBox) -> Iterator[list[str]]:
    """A game's events and actions with their fields."""
    for event in box.rules.events:
        names = ", ".join(map(code, event.__struct_fields__))
        yield [code(event.__name__), first_line(event), names]
    for action in box.rules.actions:
        names = ", ".join(map(code, action.model_fields))
        yield [code(action.__name__), first_line(action), names]


def measured_section(measured: Collection[Quantity[Any]]) -> Iterator[str]:
    """Measures or series: the table, and what there is to add."""
    rows = [
        [code(one.name), one.meaning, one.unit, first_line(one.published) if one.published else ""]
        for one in measured
    ]
    yield from table(["name", "meaning", "unit", "published variant"], rows)
    for one in measured:
        more = (inspect.getdoc(one.of) or "").partition("\n")[2].strip()
        if more:
            yield f"{code(one.name)}: {more}\n"


def strategies_section(box: GameBox) -> Iterator[str]:
    """A game's strategies: the table, then each with its settings and source."""
    found = strategies(box.name)
    rows = []
    for one in found.values():
        shown = ", ".join(code(f"{name}: {as_yaml(value)}") for name, value in one.settings())
        rows.append([f"[{code(one.name)}](#{one.name})", ", ".join(one.roles), shown, one.meaning])
    yield from table(["strategy", "roles", "settings", "what it does"], rows)
    for one in found.values():
        yield f"### {one.name} {{ #{one.name} }}\n"
        yield f"::: {one.function.__module__}.{one.function.__qualname__}\n"


def words_section(box: GameBox) -> Iterator[str]:
    """The templates of a game's styles, word for word."""
    for name, file in box.styles.items():
        text = (box.words / file.template).read_text(encoding="utf-8")
        yield f"Style `{name}`, answers as {file.codec}:\n"
        yield f"````jinja\n{text.rstrip()}\n````\n"


def tables_page() -> Iterator[str]:
    """The tables of a store with their columns, and the statements that make its views."""
    yield "# Tables of a store\n"
    yield "For plain SQL there are views, [the store in SQL](sql.md); they stand at the end.\n"
    for one in schema.metadata.sorted_tables:
        yield f"## {one.name}\n"
        rows = [
            [code(c.name), str(c.type), "" if c.nullable else "never", c.comment or ""]
            for c in one.c
        ]
        yield from table(["column", "type", "empty", "meaning"], rows)
    yield "## Views\n"
    yield "```sql\n" + "\n\n".join(f"{view};" for view in VIEWS["sqlite"]) + "\n```\n"


def environment_page() -> Iterator[str]:
    """The environment variables that are read: ours, and those of providers."""
    yield "# Environment variables\n"
    yield "The package reads these, and those of your own providers:\n"
    yield from table(["variable", "meaning"], [[code(one), VARIABLES[one]] for one in VARIABLES])
    yield "## Keys and addresses\n"
    yield "A key is sent to its provider's own address, and nowhere else. `cheaptalk doctor` says"
    yield "which are set, and never what they hold.\n"
    rows = []
    for name, provider in models.PROVIDERS.items():
        holds = [(provider.key, "key" if provider.needs_key else "key, if it wants one")]
        holds += [(one, "part of its address") for one in IN_URL.findall(provider.url)]
        rows += [[code(name), code(one), what] for one, what in holds if one]
    yield from table(["provider", "variable", "holds"], rows)


def cli_page() -> Iterator[str]:
    """Every command with its arguments and options."""
    yield "# Command line\n"
    yield (
        "`python -m cheaptalk` is the same as `cheaptalk`. For TAB, settings and `.env` see "
        "[Set up the command line](../how-to/set-up-the-command-line.md).\n"
    )
    yield from table(
        ["exit status", "meaning"],
        [[0, "all went well"], [1, "something failed or is not done"], [2, "the input is wrong"],
         [3, "calls wait in a provider's batch; run it again later"],
         [129, "stopped by SIGHUP: its terminal was closed"], [130, "stopped by Ctrl-C"],
         [141, "stopped, as nobody reads what it writes any more"], [143, "stopped by SIGTERM"]],
    )  # fmt: skip
    yield from command_section(typer.main.get_command(app), "cheaptalk", None)


def command_section(command: Any, name: str, parent: Any) -> Iterator[str]:
    """A command, or the commands of a group one after the other."""
    context = typer.Context(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        for below, one in command.commands.items():
            yield from command_section(one, below, context)
        return
    yield f"## {context.command_path}\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield f"```text\n{' '.join(command.get_usage(context).split()[1:])}\n```\n"
    records = [one.get_help_record(context) for one in command.params]
    rows = [[code(record[0]), record[1]] for record in records if record]
    if rows:
        yield from table(["argument or option", "meaning"], rows)
