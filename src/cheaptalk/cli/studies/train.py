"""The ``train policy`` and ``train exploitability`` commands, which train and evaluate policies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.playing import trackers
from cheaptalk.cli.shared.printing import StatusLine, print_json, print_table, say
from cheaptalk.extras import needing

DRAWING_INTERVAL = 10.0
"""Minimum seconds between two updates of the page with training curves."""


def policy(
    algorithm: str,
    /,
    out: Annotated[opt.File | None, opt.Settings(show_default=False)] = None,
    game: str | None = None,
    matches: Annotated[opt.Count | None, opt.Settings(show_default="1,000,000")] = None,
    set_: opt.Parameters = None,
    settings: opt.Hyperparameter = None,
    vary: Annotated[list[str] | None, opt.Settings(metavar="NAME=[A,B]")] = None,
    workers: opt.Count = 1,
    cluster: Annotated[str | None, opt.Settings(metavar="ADDRESS")] = None,
    device: Literal["auto", "cpu", "gpu"] = "auto",
    progress_page: Annotated[Path | None, opt.Settings(dir_okay=False)] = None,
    eval_every: opt.CountFromZero = 0,
    track: opt.Track = None,
    json: opt.Json = False,
) -> None:
    """Train a policy with NFSP or R-NaD.

    In a study, a trained policy is the player {policy: FILE}.

    Args:
        algorithm: Algorithm (nfsp: neural fictitious self-play; rnad: regularized Nash
            dynamics), or a preset that also sets the game: nfsp-bg4 to nfsp-bg6 or rnad-bg4 to
            rnad-bg6 for item bargaining; append -quick for a short trial.
        out: Write the policy to this file, the training state to FILE.training (to resume) and
            the log to FILE.log.jsonl.
        game: Train on this game or named configuration, e.g. bargaining or BG4.
        matches: Train on N matches.
        vary: Train once per value of this hyperparameter, and once per combination of values if
            the option is repeated; --out is then a folder.
        workers: With --vary: run N processes in parallel.
        cluster: With --vary: train on a Ray cluster, ray (local) or ray://HOST:10001.
        device: Train on this device; auto picks the fastest one available.
        progress_page: Write a live page with training curves (HTML) to this file.
        eval_every: Evaluate exploitability every N matches; 0 turns it off.
    """
    if out is None or (out.is_dir() and not vary) or (vary and out.is_file()):
        expected = "a folder for the policies" if vary else "a file for the policy"
        raise typer.BadParameter(f"expected {expected}", param_hint="--out")
    if not vary and (cluster is not None or workers != 1):
        option = "--cluster" if cluster else "--workers"
        raise typer.BadParameter("only valid with --vary", param_hint=option)
    given = opt.parameters(settings or (), "--hyperparameter")
    with needing("learn"):
        training = ct.learning.get_preset(algorithm, game, matches, given)
        rules = ct.learning.game_of(training.game, opt.parameters(set_ or ()))
        if vary:
            values = opt.parameters(vary, "--vary")
            _sweep(training, rules, values, out, eval_every, workers, cluster, json=json)
            return
        hyperparameters = ct.learning.settings_of(training.algorithm, training.settings)
        with (
            trackers(track or (), out.stem) as opened_trackers,
            StatusLine().shown(f"{training.game}: compiling") as show,
        ):
            progress = TrainingProgress(training, out, progress_page, show)
            last = ct.learning.train(
                training.algorithm,
                rules,
                hyperparameters,
                training.matches,
                out,
                device=device,
                examined_every=eval_every,
                progress=progress,
                tracks=[tracker.log for tracker in opened_trackers],
            )
            progress.draw(under_way=False)
    if json:
        print_json({"policy": str(out), "told": last and last.written()})
    elif last is None:
        say(f"{out} has already been trained on {training.matches:,} matches or more.")
    else:
        say(f"{training.game}: trained on {last.matches:,} matches; policy written to {out}")


def _sweep(
    training: ct.learning.Preset,
    rules: ct.rules.Game,
    varied: dict[str, Any],
    folder: Path,
    examine: int,
    workers: int,
    cluster: str | None,
    *,
    json: bool,
) -> None:
    """Train with all combinations of hyperparameters, and print a table of the results."""
    values = {name: value if isinstance(value, list) else [value] for name, value in varied.items()}
    with StatusLine().shown(f"{training.game}: starting") as show:
        results = ct.learning.sweep(
            training.algorithm,
            rules,
            training.settings,
            values,
            training.matches,
            folder,
            examined_every=examine,
            processes=workers,
            on=cluster,
            progress=lambda done, count: show(f"{training.game}: {done} of {count} trained"),
        )
    if json:
        print_json(
            [
                {
                    "settings": result.settings,
                    "policy": str(result.policy),
                    "last_row": result.last_row,
                }
                for result in results
            ]
        )
        return
    columns = [*values, "matches", "returns", *(["exploitability"] if examine else [])]
    rows: list[list[object]] = []
    for result in results:
        returns = " / ".join(f"{value:.4g}" for value in result.last_row["returns"])
        gains = [_gains_text(result.last_row.get("gains", ()))] if examine else []
        settings = map(str, result.settings.values())
        rows.append([*settings, result.last_row["matches"], returns, *gains])
    print_table(None, columns, rows, right=columns)
    say(f"Policies written to {folder}")


class TrainingProgress:
    """The progress display of a training run: a line and, if requested, a page with curves.

    Args:
        out: the policy's file, whose log is in the same folder.
        show: prints a line of progress.
    """

    def __init__(
        self, training: ct.learning.Preset, out: Path, page: Path | None, show: Callable[[str], Any]
    ) -> None:
        if page is not None:
            with needing("analysis"):
                self._write = ct.reports.write_curves
        self._training, self._out, self._page, self._show = training, out, page, show
        self._last_drawing = 0.0
        self._exploitability = ""

    def __call__(self, pace: ct.learning.Pace) -> None:
        state = pace.told
        if pace.seconds - self._last_drawing >= DRAWING_INTERVAL:
            self.draw(under_way=True)
            self._last_drawing = pace.seconds
        if state.gains:
            self._exploitability = f"; exploitability {_gains_text(state.gains)}"
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in state.metrics.items())
        self._show(
            f"{self._training.game}: {state.matches:,} of {pace.wanted:,} matches, "
            f"{pace.rate:,.0f} per second; {metrics}{self._exploitability}"
        )

    def draw(self, *, under_way: bool) -> None:
        """Write the page with the curves so far."""
        if self._page is not None:
            training = self._training
            self._write(
                ct.learning.read_log(self._out),
                self._page,
                f"{training.algorithm} on {training.game}",
                ct.learning.ALGORITHMS.find(training.algorithm).metrics,
                under_way=under_way,
            )


def exploitability(policy: str, /, matches: opt.Count = 3_000_000, json: opt.Json = False) -> None:
    """Estimate the exploitability of a policy.

    Exploitability is the payoff that a best response gains over the policy itself. In small games
    the best response is exact. In other games it is trained, and its gain is a lower bound.

    Args:
        policy: Policy: a file, or the name of a policy included in cheaptalk.
        matches: Train the best response on N matches; not used if the game is small enough to
            be solved exactly.
    """
    with needing("learn"):
        loaded = ct.learning.read_policy(ct.learning.policy_file(policy))
        game = loaded.game.rules.name
        with StatusLine().shown(f"{game}: compiling") as show:
            estimate = ct.learning.exploitability(
                loaded,
                matches,
                lambda state: show(
                    f"{game}: best response trained on {state.matches:,} of {matches:,} matches"
                ),
            )
    if json:
        print_json(
            {
                "policy": policy,
                "method": estimate.method,
                "exact": estimate.exact,
                "gains": [gain._asdict() for gain in estimate.gains],
            }
        )
        return
    for gain in estimate.gains:
        error = "" if estimate.exact else f" (standard error {gain.error:.2g})"
        say(f"{gain.player}: payoff {gain.own:.4g}, best response gains {gain.gain:.3g}{error}")
    say(f"Method: {estimate.method}.")


def _gains_text(gains: tuple[tuple[float, float], ...]) -> str:
    return ", ".join(f"{gain:.3g}" + (f" (±{error:.2g})" if error else "") for gain, error in gains)
