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
from typer._click.exceptions import NoArgsIsHelpError, UsageError
from typer.completion import install_callback, show_callback

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.help_page import MAX_WIDTH
from cheaptalk.cli.shared.interrupts import STOPPED, Outside
from cheaptalk.cli.shared.loading import Commands, show_full_help
from cheaptalk.cli.shared.printing import err, errors, is_verbose, usual_volume
from cheaptalk.gc_tuning import COMMAND, collecting

app = typer.Typer(
    name="cheaptalk",
    cls=Commands,
    help="Run experiments on strategic communication with language models, people and scripts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH},
)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit.")
    ] = False,
    install_completion: Annotated[
        bool,
        typer.Option("--install-completion", help="Install TAB completion for the current shell."),
    ] = False,
    show_completion: Annotated[
        bool,
        typer.Option(
            "--show-completion", help="Print the completion script for the current shell."
        ),
    ] = False,
    _: Annotated[
        bool,
        typer.Option(
            "--help-all",
            help="Show the commands of all groups and the global options, and exit.",
            is_eager=True,
            callback=show_full_help,
        ),
    ] = False,
) -> None:
    """Handle the global options, which precede the command."""
    if version:
        typer.echo(f"cheaptalk {ct.__version__}")
        raise typer.Exit
    install_callback(context, context.command.params[1], install_completion)
    show_callback(context, context.command.params[2], show_completion)


def main() -> None:
    """Run the command line."""
    interruptions = Outside()
    with interruptions.heeded(), usual_volume(), collecting(COMMAND):
        status = interruptions.ended(_status())
        if interruptions.problem:
            errors.print(f"error: {interruptions.problem}", markup=False, soft_wrap=True)
    sys.exit(status)


def _status() -> int:
    """Run a command, print its error message if it fails, and return the exit status."""
    try:
        with _plain_warnings():
            completion.enable()
            status = app(prog_name="cheaptalk", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except SystemExit as end:
        return int(end.code or 0)
    except NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except UsageError as error:
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


def _usage_problem(error: UsageError) -> str:
    """Return an error about an invalid command line, with the command that shows the help."""
    message = error.format_message().rstrip(".").replace(". Did", "; did")
    command = error.ctx.command_path if error.ctx else "cheaptalk"
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
