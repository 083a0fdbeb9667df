"""The options of commands that run a study."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.help_page import EXPERT
from cheaptalk.cli.shared.options import (
    CacheFileOption,
    CacheOption,
    ConcurrencyOption,
    JsonOption,
    NoEstimateOption,
    PricesOption,
    TrackOption,
    YesOption,
    cache_at,
)

SCOPE, BUDGET, SPEED = "Scope", "Budget", "Speed and retries"
"""Headings of the option groups in the help."""


@dataclass(frozen=True)
class PlayOptions:
    """The options of commands that run a study.

    Raises:
        BadParameter: options are incompatible, or a value is out of range.
    """

    PANELS: ClassVar[Mapping[str, str]] = {
        "concurrency": SPEED, "cache": SPEED, "cache_file": EXPERT, "prices": EXPERT,
        "no_estimate": EXPERT, "track": EXPERT,
    }  # fmt: skip
    """Help headings of options that several commands share."""

    max_matches: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SCOPE,
            help="Play at most N matches now, spread over games and pairings.",
        ),
    ] = None
    game: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SCOPE,
            autocompletion=completion.games,
            help="Only play this game of the study. Repeatable.",
        ),
    ] = None
    max_dollars: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            rich_help_panel=BUDGET,
            help="Stop before this run spends more than X dollars.",
        ),
    ] = None
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", rich_help_panel=BUDGET, help="Stop after N model calls in this run."
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=BUDGET,
            help="Stop before this run uses more than N tokens.",
        ),
    ] = None
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            rich_help_panel=BUDGET,
            help="Use providers' batch APIs, which cost less but take longer: one batch per move.",
        ),
    ] = False
    concurrency: ConcurrencyOption = None
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SPEED,
            show_default="one per CPU core",
            help="Play scripted matches in N processes.",
        ),
    ] = os.cpu_count() or 1
    retry_timeout: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            rich_help_panel=SPEED,
            help="Keep retrying an unavailable model server for this long.",
        ),
    ] = 600
    cache: CacheOption = None
    allow_failures: Annotated[
        bool, typer.Option("--allow-failures", help="Exit with status 0 even if matches failed.")
    ] = False
    yes: YesOption = False
    json: JsonOption = False
    cache_file: CacheFileOption = None
    prices: PricesOption = None
    no_estimate: NoEstimateOption = False
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait",
            rich_help_panel=EXPERT,
            help="With --batch: submit the batches and exit. Run the command again for results.",
        ),
    ] = False
    poll_interval: Annotated[
        float,
        typer.Option(
            min=0.01,
            metavar="SECONDS",
            rich_help_panel=EXPERT,
            help="With --batch: wait this long between two checks of the batches.",
        ),
    ] = 30
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=EXPERT,
            help="Run matches on a Ray cluster: ray (local) or ray://HOST:10001.",
        ),
    ] = None
    agent_server: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            rich_help_panel=EXPERT,
            help="Accept remote agents at this address; port 0 picks a free port.",
            show_default="127.0.0.1:8140 if the study has remote agents",
        ),
    ] = None
    track: TrackOption = None
    telemetry: Annotated[
        bool,
        typer.Option(
            "--telemetry",
            envvar="CHEAPTALK_TELEMETRY",
            show_envvar=True,
            rich_help_panel=EXPERT,
            help="Send OpenTelemetry traces and metrics; configure them with OTEL_* variables.",
        ),
    ] = False

    def __post_init__(self) -> None:
        dollars = self.max_dollars
        if self.no_wait and not self.batch:
            raise typer.BadParameter("requires --batch", param_hint="--no-wait")
        if dollars is not None and not 0 < dollars < math.inf:
            raise typer.BadParameter(
                f"expected an amount above 0, got {dollars:g}", param_hint="--max-dollars"
            )
        if self.cluster is not None:
            ct.studies.check_address(self.cluster)

    @property
    def in_part(self) -> bool:
        """Whether only a part of the study is to be played."""
        return self.max_matches is not None or bool(self.game)

    @property
    def cache_at(self) -> Path | None:
        """Path of the response cache; None if the cache is off."""
        return cache_at(self.cache, self.cache_file)
