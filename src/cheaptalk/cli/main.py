"""The entry point: run a command, and turn errors into one sentence and an exit status.

Exit status: 0 all went well, 1 something did not finish or failed, 2 the input was wrong, 3 calls
wait in a provider's batch, 128 and a signal's number where one ended it: 130 stopped by Ctrl-C,
143 by SIGTERM, 129 by a terminal that was closed, 141 where nobody reads on what it writes.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup
from typer.exceptions import TyperException

import cheaptalk as ct
from cheaptalk.cli.catalogue.check import check
from cheaptalk.cli.catalogue.doctor import doctor
from cheaptalk.cli.catalogue.games import games
from cheaptalk.cli.catalogue.new import new
from cheaptalk.cli.catalogue.players import players
from cheaptalk.cli.catalogue.preset import preset
from cheaptalk.cli.catalogue.prices import prices
from cheaptalk.cli.catalogue.prompt import prompt
from cheaptalk.cli.catalogue.providers import providers
from cheaptalk.cli.catalogue.recipes import recipes
from cheaptalk.cli.catalogue.rosters import rosters
from cheaptalk.cli.results import import_
from cheaptalk.cli.results.compare import compare
from cheaptalk.cli.results.export import export
from cheaptalk.cli.results.judge import judge
from cheaptalk.cli.results.label import label
from cheaptalk.cli.results.leaderboard import leaderboard
from cheaptalk.cli.results.matches import matches
from cheaptalk.cli.results.metagame import metagame
from cheaptalk.cli.results.report import report
from cheaptalk.cli.results.show import show
from cheaptalk.cli.results.view import view
from cheaptalk.cli.shared.outside import STOPPED, Outside
from cheaptalk.cli.shared.printing import err, out
from cheaptalk.cli.studies import cache
from cheaptalk.cli.studies.batches import batches
from cheaptalk.cli.studies.ctl import ctl
from cheaptalk.cli.studies.plan import plan
from cheaptalk.cli.studies.play import play
from cheaptalk.cli.studies.run import resume, run
from cheaptalk.cli.studies.status import status
from cheaptalk.rules.errors import first_problem
from cheaptalk.rules.registry import PluginWarning
from cheaptalk.text import visible

COMMANDS: dict[str, Callable[..., None] | typer.Typer] = {
    "games": games, "players": players, "rosters": rosters, "prompt": prompt, "preset": preset,
    "providers": providers, "prices": prices, "plan": plan, "run": run, "resume": resume,
    "ctl": ctl, "batches": batches, "cache": cache.commands, "status": status, "matches": matches,
    "show": show,
    "view": view, "judge": judge,
    "label": label, "report": report, "recipes": recipes, "compare": compare,
    "leaderboard": leaderboard, "metagame": metagame, "export": export,
    "import": import_.commands, "play": play, "new": new, "check": check,
    "doctor": doctor,
}  # fmt: skip
"""The commands in the order in which one comes to need them."""


class Commands(TyperGroup):
    """Lists the commands in their order, and words what is wrong with their options as we do."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _worded():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with _worded():
            return super().invoke(ctx)


@contextmanager
def _worded() -> Iterator[None]:
    """Word what is wrong with a command line as we do, and show what was typed by its codes."""
    try:
        yield
    except TyperException as error:
        cause, message = error.__cause__, getattr(error, "message", "")
        error.message = first_problem(cause) if isinstance(cause, ValidationError) else message
        error.message = visible(error.message)
        raise


app = typer.Typer(
    name="cheaptalk",
    cls=Commands,
    help="A laboratory for strategic communication: plan, play, resume and report studies.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in COMMANDS.items():
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name)(command)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Say which version this is.")] = False,
) -> None:
    """Options that stand before a command."""
    if version:
        out.print(f"cheaptalk {ct.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    outside = Outside()
    with outside.heeded():
        status = outside.ended(_status())
        if outside.problem:
            err.print(f"error: {outside.problem}", markup=False, soft_wrap=True)
    sys.exit(status)


def _status() -> int:
    """Run the command, say what went wrong, and return its exit status."""
    try:
        with _plain_warnings():
            app()
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return STOPPED
    except OSError as error:
        about = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        err.print(f"error: {about}", markup=False)
        return 1
    except ct.CheaptalkError as error:
        err.print("error: ", end="", style="bold red")
        err.print(str(error), markup=False)
        return 2
    return 0


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print a warning of a broken plug-in as one line, once; others as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PluginWarning)
        usual, said = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, PluginWarning):
                usual(message, category, *rest, **more)
            elif str(message) not in said:
                said.add(str(message))
                err.print(f"warning: {message}", markup=False, soft_wrap=True)

        warnings.showwarning = show
        yield
