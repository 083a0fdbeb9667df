"""The commands that train a policy and look into it: train, exploitability."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared.options import JsonOption, ParametersOption, TrackOption, parameters
from cheaptalk.cli.shared.printing import print_json, print_table, say
from cheaptalk.cli.shared.progress import StatusLine
from cheaptalk.cli.shared.watching import trackers
from cheaptalk.cli.studies.experiment import experiment
from cheaptalk.extras import needing

SELF_PLAY = "self-play"
"""What is trained beside policies: language models."""
DRAWN = 10.0
"""Seconds between two drawings of a page of curves."""


class Device(StrEnum):
    """A kind of device to learn on."""

    auto = "auto"
    cpu = "cpu"
    gpu = "gpu"


def train(
    algorithm: Annotated[
        str,
        typer.Argument(
            help="nfsp: neural fictitious self-play; rnad: regularised Nash dynamics; or a "
            "training that a paper names, with its game and settings: nfsp-bg4 to nfsp-bg6, "
            "rnad-bg4 to rnad-bg6; or ours, which take minutes: the same with -quick behind it, "
            "and rnad-bargaining-quick; or self-play: language models, from nothing to a report."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The policy's file. FILE.training lies beside it, from which a training that "
            "was stopped goes on, and FILE.log.jsonl, which says how it went. Of self-play the "
            "folder, in which it goes on, too.",
            show_default="self-play-PRESET of self-play",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Of self-play: an experiment, tiny, gpu, options, inverted or seconds, "
            "or its file.",
            metavar="NAME|FILE",
        ),
    ] = None,
    lineages: Annotated[
        list[str] | None,
        typer.Option(
            "--lineage",
            help="Of self-play: which lineage of the experiment; all by default. Repeat it for "
            "several.",
            metavar="NAME",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Of self-play: the model to begin with, a folder or a name on the Hugging Face "
            "Hub, instead of one that is made.",
            metavar="MODEL",
        ),
    ] = None,
    game: Annotated[
        str | None, typer.Option(help="A game, or a configuration that a paper names, such as BG4.")
    ] = None,
    matches: Annotated[
        int | None, typer.Option(min=1, help="Matches to learn from in all; a million by default.")
    ] = None,
    set_: ParametersOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--with", help="A setting of the algorithm.", metavar="NAME=VALUE"),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Train with each of several values of a setting; repeat it for all combinations. "
            "FILE is a folder then.",
            metavar="NAME=[A,B]",
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Of --vary: trainings at the same time on this machine.")
    ] = 1,
    on: Annotated[
        str | None,
        typer.Option(help="Of --vary: a Ray cluster: ray, or ray://HOST:10001.", metavar="CLUSTER"),
    ] = None,
    device: Annotated[
        Device, typer.Option(help="What to learn on; the fastest that JAX finds by default.")
    ] = Device.auto,
    page: Annotated[
        Path | None,
        typer.Option(
            help="A page of how it goes, with curves, which is written anew as it goes.",
            dir_okay=False,
        ),
    ] = None,
    examine: Annotated[
        int,
        typer.Option(
            min=0,
            help="Matches after which it is looked what could be gained against the policy, again "
            "and again; 0 for never.",
        ),
    ] = 0,
    track: TrackOption = None,
    json: JsonOption = False,
) -> None:
    """Train a policy that sits down at tables as {policy: FILE}, or language models."""
    if algorithm == SELF_PLAY:
        experiment(preset or "tiny", out, lineages or (), base, json=json)
        return
    if out is None or (out.is_dir() and not vary) or (vary and out.is_file()):
        named = "a folder for the policies" if vary else "the policy's file"
        raise typer.BadParameter(f"name {named}", param_hint="--out")
    if not vary and (on is not None or workers != 1):
        raise typer.BadParameter("it goes with --vary", param_hint="--on" if on else "--workers")
    if preset or lineages or base:
        hint = "--preset, --lineage, --base"
        raise typer.BadParameter(f"that is for {SELF_PLAY} alone", param_hint=hint)
    own = parameters(settings or (), "--with")
    with needing("learn"):
        chosen = ct.learning.chosen(algorithm, game, matches, own)
        rules = ct.learning.game_of(chosen.game, parameters(set_ or ()))
        if vary:
            _sweep(chosen, rules, parameters(vary, "--vary"), out, examine, workers, on, json=json)
            return
        wanted = ct.learning.settings_of(chosen.algorithm, chosen.settings)
        with (
            trackers(track or (), out.stem) as told,
            StatusLine().shown(f"{chosen.game}: compiling") as show,
        ):
            telling = Telling(chosen, out, page, show)
            last = ct.learning.train(
                chosen.algorithm, rules, wanted, chosen.matches, out, device=device.value,
                examined_every=examine, progress=telling,
                tracks=[one.log for one in told],
            )  # fmt: skip
            telling.draw(under_way=False)
    if json:
        print_json({"policy": str(out), "told": last and last.written()})
    elif last is None:
        say(f"{out} has learned from as many matches before.")
    else:
        say(f"{chosen.game}: learned from {last.matches:,} matches; the policy is {out}")


def _sweep(
    chosen: ct.learning.Preset,
    rules: ct.rules.Game,
    varied: dict[str, Any],
    folder: Path,
    examine: int,
    workers: int,
    on: str | None,
    *,
    json: bool,
) -> None:
    """Train with all combinations of settings, and say how each went."""
    lists = {name: one if isinstance(one, list) else [one] for name, one in varied.items()}
    with StatusLine().shown(f"{chosen.game}: trainings begin") as show:
        found = ct.learning.sweep(
            chosen.algorithm, rules, chosen.settings, lists, chosen.matches, folder,
            examined_every=examine, processes=workers, on=on,
            progress=lambda done, count: show(f"{chosen.game}: {done} of {count} trained"),
        )  # fmt: skip
    if json:
        print_json([
            {"settings": one.settings, "policy": str(one.policy), "told": one.told}
            for one in found
        ])  # fmt: skip
        return
    columns = [*lists, "matches", "returns", *(["could be gained"] if examine else [])]
    rows: list[list[object]] = []
    for one in found:
        returns = " / ".join(f"{got:.4g}" for got in one.told["returns"])
        gains = [_gained(one.told.get("gains", ()))] if examine else []
        rows.append([*map(str, one.settings.values()), one.told["matches"], returns, *gains])
    print_table(None, columns, rows, right=columns)
    say(f"The policies are in {folder}")


class Telling:
    """Tells how a training goes: in a line, and on a page if there is to be one."""

    def __init__(
        self, training: ct.learning.Preset, out: Path, page: Path | None, show: Callable[[str], Any]
    ) -> None:
        if page is not None:
            with needing("analysis"):
                self._write = ct.reports.write_curves
        self._training, self._out, self._page, self._show = training, out, page, show
        self._drawn = 0.0
        self._gained = ""

    def __call__(self, pace: ct.learning.Pace) -> None:
        """Tell of a point of it."""
        now = pace.told
        if pace.seconds - self._drawn >= DRAWN:
            self.draw(under_way=True)
            self._drawn = pace.seconds
        if now.gains:
            self._gained = "; could be gained " + _gained(now.gains)
        metrics = ", ".join(f"{name} {one:.4g}" for name, one in now.metrics.items())
        self._show(
            f"{self._training.game}: {now.matches:,} of {pace.wanted:,} matches, "
            f"{pace.rate:,.0f} a second; {metrics}{self._gained}"
        )

    def draw(self, *, under_way: bool) -> None:
        """Write the page anew."""
        if self._page is not None:
            training = self._training
            self._write(
                ct.learning.logged(self._out), self._page,
                f"{training.algorithm} on {training.game}",
                ct.learning.ALGORITHMS.find(training.algorithm).metrics, under_way=under_way,
            )  # fmt: skip


def exploitability(
    policy: Annotated[
        str, typer.Argument(help="A policy's file, or the name of one that comes with the package.")
    ],
    matches: Annotated[
        int,
        typer.Option(min=1, help="Matches that a rival learns from, where the game is not small."),
    ] = 3_000_000,
    json: JsonOption = False,
) -> None:
    """Say what could be gained against a policy by playing otherwise."""
    with needing("learn"):
        found = ct.learning.read_policy(ct.learning.policy_file(policy))
        game = found.game.rules.name
        with StatusLine().shown(f"{game}: compiling") as show:
            told = ct.learning.exploitability(
                found, matches,
                lambda now: show(f"{game}: a rival learned from {now.matches:,} of {matches:,}"),
            )  # fmt: skip
    if json:
        print_json({
            "policy": policy, "method": told.method, "exact": told.exact,
            "gains": [one._asdict() for one in told.gains],
        })  # fmt: skip
        return
    for one in told.gains:
        error = "" if told.exact else f" (standard error {one.error:.2g})"
        say(f"{one.player} gets {one.own:.4g} and could gain {one.gain:.3g}{error}")
    say(f"This was {told.method}.")


def _gained(gains: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(f"{gain:.3g}" + (f" (±{error:.2g})" if error else "") for gain, error in gains)
