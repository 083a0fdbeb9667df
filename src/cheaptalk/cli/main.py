"""The entry point: run a command, and turn errors into one sentence and an exit status.

Exit status: 0 all went well, 1 something did not finish or failed, 2 the input was wrong, 3 calls
wait in a provider's batch, 128 and a signal's number where one ended it: 130 stopped by Ctrl-C,
143 by SIGTERM, 129 by a terminal that was closed, 141 where nobody reads on what it writes.
"""

import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.completion import install_callback, show_callback

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.help_page import WIDEST
from cheaptalk.cli.shared.loading import Commands
from cheaptalk.cli.shared.outside import STOPPED, Outside
from cheaptalk.cli.shared.printing import err, errors, is_verbose, usual_volume
from cheaptalk.garbage import COMMAND, collecting

app = typer.Typer(
    name="cheaptalk",
    cls=Commands,
    help="A laboratory for strategic communication: plan, play, resume and report studies.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDEST},
)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Say which version this is.")
    ] = False,
    install_completion: Annotated[
        bool, typer.Option("--install-completion", help="Let TAB complete in the shell in use.")
    ] = False,
    show_completion: Annotated[
        bool, typer.Option("--show-completion", help="Print what would be installed for that.")
    ] = False,
) -> None:
    """Options that stand before a command."""
    if version:
        typer.echo(f"cheaptalk {ct.__version__}")
        raise typer.Exit
    install_callback(context, context.command.params[1], install_completion)
    show_callback(context, context.command.params[2], show_completion)


def main() -> None:
    """Run the command line."""
    outside = Outside()
    with outside.heeded(), usual_volume(), collecting(COMMAND):
        status = outside.ended(_status())
        if outside.problem:
            errors.print(f"error: {outside.problem}", markup=False, soft_wrap=True)
    sys.exit(status)


def _status() -> int:
    """Run the command, say what went wrong, and return its exit status."""
    try:
        with _plain_warnings():
            completion.enable()
            app(prog_name="cheaptalk")
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return STOPPED
    except OSError as error:
        about = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return _failed(about, 1)
    except ct.CheaptalkError as error:
        return _failed(str(error), 2)
    return 0


def _failed(about: str, status: int) -> int:
    """Say what went wrong, if that is wanted with where it arose, and return the exit status."""
    if is_verbose():
        errors.print(traceback.format_exc(), markup=False, style="dim", soft_wrap=True)
    errors.print("error: ", end="", style="bold red")
    errors.print(about, markup=False)
    return status


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print a warning of a broken plug-in as one line, once; others as Python does."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", module=r"cheaptalk\.rules\.registry$")
        if completion.completing():
            warnings.simplefilter("ignore")
        usual, said = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, ct.rules.PluginWarning):
                usual(message, category, *rest, **more)
            elif str(message) not in said:
                said.add(str(message))
                err.print(f"warning: {message}", markup=False, soft_wrap=True)

        warnings.showwarning = show
        yield
