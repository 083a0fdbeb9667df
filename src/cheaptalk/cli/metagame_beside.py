"""Options of the command ``metagame`` on matches and providers, and what it prints of these."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.base import out, print_table

if TYPE_CHECKING:
    from cheaptalk.equilibrium import Analysis, NextCells
    from cheaptalk.equilibrium.analysis.providers import Providers

ProviderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--provider",
        help="Whose strategy it is, for the game among providers. Repeat it. Models whose name "
        "says so have theirs already; an empty one takes it away.",
        metavar="LABEL=PROVIDER",
    ),
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        help="Take the matches of another study of the store too; one in both counts once. "
        "Repeat it.",
        metavar="STUDY",
    ),
]
NextOption = Annotated[
    int, typer.Option("--next", min=0, help="Propose where to play so many matches more.")
]
OneSidedOption = Annotated[
    bool,
    typer.Option(
        "--one-sided",
        help="Accept pairs that only ever sat in one order, as is right where seats are alike.",
    ),
]
PairedOption = Annotated[
    bool | None,
    typer.Option(
        "--paired/--unpaired",
        help="Draw the same deals for all cells, or deals for each cell, which breaks exact ties "
        "between cells that share deals.",
        show_default="paired where cells share deals",
    ),
]
OF_STUDY = ("store", "others", "game", "bootstrap", "paired", "one_sided", "port")
"""Options that make no difference to a payoff file."""
CURES = {"say one_sided=True": "use --one-sided", "say paired=False": "use --unpaired",
         "say pooled=True": "use --pooled"}  # fmt: skip
"""What an error advises in Python, and on the command line."""


def refuse_of_study(context: typer.Context) -> None:
    """See that no option is given that only makes sense for a study.

    Raises:
        BadParameter: one is.
    """
    for one in context.command.params:
        source = context.get_parameter_source(str(one.name))
        if one.name in OF_STUDY and source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(
                "it is for a study; a payoff file holds one game, and no matches",
                param_hint="/".join([*one.opts, *one.secondary_opts]),
            )


def grouping(written: Sequence[str], known: dict[str, str]) -> dict[str, str]:
    """The provider of each strategy, as written and else as known.

    Raises:
        BadParameter: one is not LABEL=PROVIDER.
    """
    found = dict(known)
    for one in written:
        label, equals, provider = (part.strip() for part in one.rpartition("="))
        if not (label and equals):
            raise typer.BadParameter(f'"{one}" is not LABEL=PROVIDER', param_hint="--provider")
        found[label] = provider
    return {label: provider for label, provider in found.items() if provider}


def check_grouping(written: Sequence[str], analyses: Sequence[Analysis]) -> None:
    """See that what was written groups some game's strategies.

    Raises:
        BadParameter: a label is in none of the games, or none has strategies of two providers.
    """
    labels = dict.fromkeys(label for one in analyses for label in one.labels)
    for label in grouping(written, {}):
        if label not in labels:
            raise typer.BadParameter(
                f"no strategy {ct.rules.suggest(label, list(labels))}", param_hint="--provider"
            )
    if written and not any(one.providers for one in analyses):
        raise typer.BadParameter(
            "strategies of two providers at least make a game among them; name another one's",
            param_hint="--provider",
        )


@contextmanager
def cured() -> Iterator[None]:
    """Let errors name the options of the command where they name arguments of Python.

    Raises:
        CheaptalkError: as raised, in these words.
    """
    try:
        yield
    except ct.CheaptalkError as error:
        said = str(error)
        for python, option in CURES.items():
            said = said.replace(python, option)
        raise ct.CheaptalkError(re.sub(r"without\((\[.*?\])\)", _left_out, said)) from None


def _left_out(found: re.Match[str]) -> str:
    labels: list[str] = ast.literal_eval(found[1])
    return " ".join(f"--without {shlex.quote(label)}" for label in labels)


def print_providers(among: Providers) -> None:
    """The best-response table and the value given, in both readings."""
    owners = list(among.members)
    for reading in among.readings:
        out.print(f"Providers: {reading.title.lower()}", markup=False)
        given = ["Given"] if reading.given else []
        columns = ["Provider", *given, *(f"Best reply to {owner}" for owner in owners)]
        rows: list[list[object]] = [
            [
                owner,
                *([ct.equilibrium.plus_minus(reading.given[at], 1)] if reading.given else []),
                *(f"{share:.1%}" for share in reading.responses[at]),
            ]
            for at, owner in enumerate(owners)
        ]
        print_table(None, columns, rows)
    for what, why in among.absent.items():
        out.print(f"{what[:1].upper()}{what[1:]} is missing: {why}.", markup=False)


def print_next(plan: NextCells | str) -> None:
    """The cells to play next, beside the even design."""
    words = f"No cells can be proposed: {plan}." if isinstance(plan, str) else str(plan)
    out.print(words, markup=False)


def print_text(text: str) -> None:
    """A game in plain text; its heading stands out."""
    heading, _, rest = text.partition("\n")
    out.print(heading, style="bold", markup=False)
    out.print(rest, markup=False)
