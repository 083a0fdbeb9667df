"""The command line's entry point: run a command and turn errors into messages and exit statuses.

Exit statuses: 0 for success, 1 if the command is incomplete or failed, 2 for invalid input, 3 if
calls are still in a provider's batch, and 128 plus the number of the signal that ended the command:
130 after Ctrl-C, 143 after SIGTERM, 129 after a closed terminal, 141 after a closed output pipe.
"""

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.exceptions import TyperException

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.interrupts import STOPPED, Outside
from cheaptalk.cli.shared.loading import Group
from cheaptalk.cli.shared.printing import err, errors, is_verbose, usual_volume
from cheaptalk.cli.shared.settings import Defaults
from cheaptalk.gc_tuning import COMMAND, collecting
from cheaptalk.text import visible

ALLOCATOR = ("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")
"""Environment variable with which polars returns freed memory at once.

The report of a million matches needs a quarter less memory.
"""

app = typer.Typer(
    name="cheaptalk",
    cls=Group,
    help="Run experiments on strategic communication with language models, people and scripts.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit.")
    ] = False,
) -> None:
    """Handle the global options, which precede the command."""
    if version:
        typer.echo(f"cheaptalk {ct.__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    os.environ.setdefault(*ALLOCATOR)
    interruptions = Outside()
    with interruptions.heeded(), usual_volume(), collecting(COMMAND):
        status = interruptions.ended(_status())
        if interruptions.problem:
            errors.print(f"error: {interruptions.problem}", markup=False, soft_wrap=True)
    sys.exit(status)


def _status() -> int:
    """Run a command, print its error message if it fails, and return the exit status."""
    try:
        with _plain_warnings(), completion.joined_words():
            status = app(prog_name="cheaptalk", standalone_mode=False, obj=Defaults())
        return status if isinstance(status, int) else 0
    except SystemExit as end:
        return int(end.code or 0)
    except TyperException as error:
        return _failed(_usage_problem(error), error.exit_code)
    except typer.Abort:
        return _failed("aborted", 1)
    except KeyboardInterrupt:
        return STOPPED
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _failed(message, 1)
    except ct.CheaptalkError as error:
        return _failed(str(error), 2)
    return 0


def _usage_problem(error: TyperException) -> str:
    """Return an error about an invalid command line, with the command that shows the help."""
    if error.__cause__ is not None:
        error.message = ct.rules.errors.problem_of(error.__cause__) or error.message
    message = visible(error.format_message()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "cheaptalk"
    return f"{message[:1].lower()}{message[1:]}; see {command} --help"


def _failed(message: str, status: int) -> int:
    """Print an error, with its traceback under --verbose, and return the exit status."""
    if is_verbose():
        errors.print(traceback.format_exc(), markup=False, style="dim", soft_wrap=True)
    if os.environ.get(ct.rules.errors.ERROR_FORMAT) == "json":
        errors.print(json.dumps({"error": message}), markup=False, soft_wrap=True)
        return status
    errors.print("error: ", end="", style="bold red")
    errors.print(message, markup=False)
    return status


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print each warning about a broken plug-in once, on one line; leave others unchanged."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", module=r"cheaptalk\.rules\.registry$")
        if completion.completing():
            warnings.simplefilter("ignore")
        show_default, printed = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, ct.rules.PluginWarning):
                show_default(message, category, *rest, **more)
            elif str(message) not in printed:
                printed.add(str(message))
                err.print(f"warning: {message}", markup=False, soft_wrap=True)

        warnings.showwarning = show
        yield
