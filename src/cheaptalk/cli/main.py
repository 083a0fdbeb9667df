"""The entry point: run a command, and turn errors into one sentence and an exit status.

Exit status: 0 all went well, 1 something did not finish or failed, 2 the input was wrong, 3 calls
wait in a provider's batch, 130 stopped by Ctrl-C.
"""

import sys
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli import (
    batching,
    caching,
    checking,
    comparing,
    controlling,
    data,
    judging,
    labelling,
    listing,
    metagame,
    planning,
    playing,
    pricing,
    prompting,
    reporting,
    running,
    showing,
)
from cheaptalk.cli.base import app, err, out

COMMANDS = (
    listing, prompting, pricing, planning, running, controlling, batching, caching, showing,
    playing, judging, labelling, reporting, comparing, metagame, data, checking,
)  # fmt: skip
"""The modules whose commands make up the application."""


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
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        about = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        err.print(f"error: {about}", markup=False)
        sys.exit(1)
    except Exception as error:
        if not isinstance(error, ct.CheaptalkError):
            raise
        err.print("error: ", end="", style="bold red")
        err.print(str(error), markup=False)
        sys.exit(2)
