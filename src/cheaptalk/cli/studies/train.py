"""The command that trains a policy: train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.extras import needing
from cheaptalk.cli.shared.options import JsonOption, ParametersOption, pair, parameters
from cheaptalk.cli.shared.printing import print_json, say
from cheaptalk.cli.shared.progress import StatusLine


def train(
    algorithm: Annotated[str, typer.Argument(help="nfsp: neural fictitious self-play.")],
    game: Annotated[
        str, typer.Option(help="A game, or a configuration that a paper names, such as BG4.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The policy's file. FILE.training lies beside it, from which a training that "
            "was stopped goes on.",
            dir_okay=False,
        ),
    ],
    matches: Annotated[int, typer.Option(min=1, help="Matches to learn from in all.")] = 1_000_000,
    set_: ParametersOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--with", help="A setting of the algorithm.", metavar="NAME=VALUE"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Train a policy that sits down at tables as {policy: FILE}."""
    if algorithm != "nfsp":
        raise typer.BadParameter(f"there is no {algorithm}; there is nfsp", param_hint="ALGORITHM")
    chosen = dict(pair(one, "NAME=VALUE", "--with") for one in settings or ())
    with needing("learn"):
        rules = ct.learning.game_of(game, parameters(set_ or ()))
        wanted = ct.learning.settings_of(chosen)
        with StatusLine().shown(f"{game}: compiling") as show:

            def told(pace: ct.learning.Pace) -> None:
                now = pace.told
                show(
                    f"{game}: {now.matches:,} of {pace.wanted:,} matches, {pace.rate:,.0f} a "
                    f"second; losses {now.q_loss:.4f} of values, {now.policy_loss:.3f} of policy"
                )

            last = ct.learning.train(rules, wanted, matches, out, progress=told)
    if json:
        print_json({"policy": str(out), "told": last and last._asdict()})
    elif last is None:
        say(f"{out} has learned from as many matches before.")
    else:
        say(f"{game}: learned from {last.matches:,} matches; the policy is {out}")
