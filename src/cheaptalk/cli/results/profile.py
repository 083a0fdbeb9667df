"""The command that finds out how an agent bargains: profile."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    VIEWER,
    StoreOption,
    ViewerOption,
    check_writable,
    file_to_write,
    page_to_write,
    player_entry,
    retyped,
    with_options,
)
from cheaptalk.cli.shared.playing import PlayOptions, play_study
from cheaptalk.cli.shared.printing import err, errors, print_json, say
from cheaptalk.cli.shared.sentences import at_store, counted
from cheaptalk.extras import needing
from cheaptalk.text import FEW_MARK
from cheaptalk.whole_files import whole_file

UNPLAYED = 4
"""The exit status if matches are left to play, so that no gate is decided."""
AGENT_DEADLINE = 60
"""Seconds that an agent has for each answer, unless its entry says otherwise: one that hangs then
costs its match two minutes, since such a request is sent twice."""
PANEL = "panel/"
"""Stands before the name of a player of the battery's own panel."""


@with_options
def profile(
    context: typer.Context,
    player: Annotated[
        str,
        typer.Argument(
            help="The player: a model string, agent/NAME@URL, a strategy, ROSTER:LABEL or an entry "
            "as in a roster, or panel/NAME, of the panel itself.",
            metavar="PLAYER",
            show_default=False,
            autocompletion=completion.players,
        ),
    ],
    store: StoreOption = DEFAULT_STORE,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What the player is called.", show_default="from PLAYER"),
    ] = None,
    size: Annotated[
        str, typer.Option(help="The size: small has about 550 matches, standard 5 times as many.")
    ] = "small",
    battery: Annotated[
        str | None,
        typer.Option(
            help="The battery, by its name or in a file.", metavar="NAME_OR_FILE",
            show_default="the newest that ships",
        ),
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(
            "--beside", metavar="PLAYER", autocompletion=completion.players,
            help="A player to stand in the panel, too, such as a reference model. Repeat it for "
            "several.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--out", help="The page to write.",
            show_default="NAME-profile.html, or NAME-SIZE-profile.html",
            callback=page_to_write,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="The file to write, to compare with.",
            show_default="NAME-profile.json, or NAME-SIZE-profile.json", callback=file_to_write,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require", metavar="GATE",
            help="What a number must be, such as 'earned >= 0.45'. Repeat it for several.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="An earlier profile's file, to compare with pair by pair."),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", help="Write the gates of --require as JUnit XML.", callback=file_to_write
        ),
    ] = None,
    viewer: ViewerOption = VIEWER,
    *,
    options: PlayOptions,
) -> None:  # fmt: skip
    """Test an agent for weaknesses, and report its metrics beside those of baselines.

    The command plays a battery of games with the agent and with baselines on the same instances,
    and writes a page that starts with the weaknesses found. Run it again to continue; matches in
    the store are not played again. It exits with 4 if matches are left to play, whatever the gates
    say. Otherwise, --require exits with 1 if a gate fails, with 3 if an interval contains a limit,
    and with 0 if all gates pass. If matches failed with errors, the command exits with 4 instead of
    3 or 0, unless you set --allow-failures.
    """
    with needing("analysis"):
        chosen = ct.profiles.battery(battery or ct.profiles.LATEST)
        if beside:
            chosen = chosen.beside({_name_of(one): _entry(one) for one in beside})
        gates = [ct.profiles.gate(one, chosen) for one in require or ()]
        if against is None and (of_change := [one for one in gates if one.of_change]):
            raise ct.CheaptalkError(f"{of_change[0]}: a change takes --against, since when")
        if junit is not None and not gates:
            raise ct.CheaptalkError(
                "--junit writes gates as test cases, and there is none; add one, such as "
                "--require 'findings <= 0'"
            )
        chosen.size(size)
        earlier = None if against is None else ct.profiles.read_profile(against, chosen, size)
        label = name or _name_of(player)
        smallest = chosen.size(size) == min(chosen.sizes.values())
        stem = f"{label}-profile" if smallest else f"{label}-{size}-profile"
        page, file = to or Path(f"{stem}.html"), data or Path(f"{stem}.json")
        entry = _member(chosen, player) if player.startswith(PANEL) else _entry(player)
        with _naming(f"{label} by {chosen.name}"):
            study = chosen.study(label, entry, size)
        if data is None and not options.yes:
            _check_same_player(file, label, entry)
        check_writable(page, file, *([] if junit is None else [junit]))
        if against is not None and against.resolve() in (file.resolve(), page.resolve()):
            raise ct.CheaptalkError(f"--against {against} would be written over; set --data apart")
        playing = replace(options, allow_failures=True)
        played = play_study(study.name, study, store, playing, again=retyped(context))
        if notice := _if_asked_nothing(label, entry, played):
            say(notice, to=errors if against else err, whole=True)
        with ct.Store.open(store) as opened, err.status(f"{label}: reading matches"):
            with _unplayed(label, gates, junit):
                found = ct.profiles.profile_of(opened, study.name, label, entry, chosen, size)
            other_games = played.rest if options.game else 0
            to_play = played.left + played.rest - other_games
            unplayed = max(0, to_play - sum(found.failures.values()))
            found = replace(found, unplayed=unplayed)
            forfeits = _forfeits(found, store)
            changed = [] if earlier is None else ct.profiles.changes(found, earlier)
            decisions = [ct.profiles.decide(found, one, changed) for one in gates]
            apart = [] if earlier is None else ct.profiles.finding_changes(found, earlier)
            since = earlier["player"] if earlier else ""
            held = ct.profiles.Held(decisions, since, changed, apart)
            ct.profiles.write_profile(opened, found, page, held=held, viewer=viewer)
    found.write(file)
    _write_junit(junit, label, decisions)
    if options.json:
        print_json(found.as_json() | {
            "gates": [_plain(one) for one in decisions],
            "changes": [one._asdict() for one in changed],
            "finding_changes": [one._asdict() for one in apart], "page": str(page.absolute()),
        })  # fmt: skip
    else:
        _tell(found, held, page, file)
    if found.failed:
        say(f"{found.failed}; play them with: {retyped(context)}", to=errors, whole=True)
    if forfeits is not None:
        say(forfeits, to=errors, whole=True)
    raise typer.Exit(_exit_status(found, decisions, options))


def _exit_status(
    profile: ct.profiles.Profile,
    decisions: Sequence[ct.profiles.Decision],
    options: PlayOptions,
) -> int:
    """Return the exit status of a profile.

    No verdict counts if matches were not played: they could still change it. A failed match was
    played, and can be the very reason why a gate fails, so that only a failed gate precedes it.
    """
    if profile.unplayed:
        return UNPLAYED
    status = 1 if profile.mostly_forfeited else ct.profiles.status(decisions)
    if profile.failures and not options.allow_failures and status != 1:
        return UNPLAYED
    return status


def _check_same_player(file: Path, label: str, entry: ct.players.RosterEntry) -> None:
    """Keep the profile of another player of the same name.

    Raises:
        CheaptalkError: the file has another model, agent or strategy.
    """
    try:
        before = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    known = before.get("entry") if isinstance(before, dict) else None
    if known and known != ct.profiles.entry_digest(entry):
        raise ct.CheaptalkError(
            f"{file} is the profile of another player called {label}, and would be replaced; set "
            "another --name or --data, or replace it with --yes"
        )


def _if_asked_nothing(label: str, entry: ct.players.RosterEntry, played: ct.Progress) -> str:
    """Return a notice that all matches of a profile were played before; empty if any is left."""
    if not played.before or played.here != played.before or played.left:
        return ""
    return (
        f"{label}: all {played.before:,} matches were played before, and it was asked nothing "
        f"now{_if_changed(entry)}"
    )


def _write_junit(file: Path | None, label: str, decisions: Sequence[ct.profiles.Decision]) -> None:
    if file is not None:
        with whole_file(file) as xml:
            xml.write(ct.profiles.junit(label, decisions))


@contextmanager
def _unplayed(label: str, gates: Sequence[ct.profiles.Gate], junit: Path | None) -> Iterator[None]:
    """End with :data:`UNPLAYED` and the reason if no match of the player has ended.

    All gates are then undecided in the JUnit file.

    Raises:
        Exit: none has.
    """
    try:
        yield
    except ct.profiles.NothingPlayed as error:
        say(f"error: {error}", to=errors, whole=True)
        _write_junit(
            junit,
            label,
            [
                ct.profiles.Decision(gate, ct.profiles.Verdict.CANNOT_TELL, None, why=str(error))
                for gate in gates
            ],
        )
        raise typer.Exit(UNPLAYED) from None


def _member(battery: ct.profiles.Battery, player: str) -> ct.players.RosterEntry:
    """A player of the panel itself."""
    name = player.removeprefix(PANEL)
    if name not in battery.panel:
        raise ct.CheaptalkError(
            f"{battery.name} has no {ct.rules.suggest(name, list(battery.panel))} in its panel"
        )
    return battery.panel[name].player


def _entry(player: str) -> ct.players.RosterEntry:
    """A player as it is written, or by the name of its roster and its own."""
    name, colon, label = player.partition(":")
    if colon and (name in ct.players.roster_names() or Path(name).suffix in (".yaml", ".yml")):
        try:
            found = ct.players.rosters.chosen(player)
        except ValueError as error:
            raise ct.CheaptalkError(str(error)) from None
        if len(found) > 1:
            raise ct.CheaptalkError(f"{player} are {len(found)} players; name one of them")
        return ct.players.RosterEntry.model_validate(found[label.strip()])
    with _naming(player):
        written = player_entry(player)
        if isinstance(written, dict) and str(written.get("model", "")).startswith("agent/"):
            written = {"deadline": AGENT_DEADLINE} | written
        return ct.players.RosterEntry.model_validate(written)


def _name_of(player: str) -> str:
    """What a player is called that has no other name: the last part of its own."""
    plain = player.partition("@")[0].rpartition("/")[2]
    return re.sub(r"[^\w.-]+", "-", plain).strip("-.")[:40] or "player"


@contextmanager
def _naming(what: str) -> Iterator[None]:
    """Say of a player or battery that cannot be what is wrong with it.

    Raises:
        StudyError: something is.
    """
    try:
        yield
    except ValueError as error:
        problem = ct.rules.errors.problem_of(error) or error
        raise ct.StudyError(f"{what}: {problem}") from None


def _if_changed(entry: ct.players.RosterEntry) -> str:
    """What to do about a model or agent that has changed behind its name."""
    model = str(entry.written().get("model", ""))
    kind, _, rest = model.partition("/")
    if kind in ("agent", "guest"):
        name, at, address = rest.partition("@")
        return f"; one that has changed is another player, such as {kind}/{name}-2{at}{address}"
    return "; one that has changed since is asked in another --store" if model else ""


def _forfeits(found: ct.profiles.Profile, store: str) -> str | None:
    """Return how many matches a player forfeited and how to see why; None if it forfeited none."""
    if not found.forfeits:
        return None
    matches = found.seats.filter(player=found.player)["match"].n_unique()
    rest = ", and all else is of the rest" if found.mostly_forfeited else ""
    return (
        f"{found.player} forfeited {found.forfeits:,} of {counted(matches, 'match')}{rest}; see "
        f"why with: cheaptalk matches {found.study} --state forfeited {at_store(store)}"
    )


def _tell(found: ct.profiles.Profile, held: ct.profiles.Held, page: Path, file: Path) -> None:
    for change in held.findings:
        say(str(change))
    told = ct.profiles.summary(found)
    for sentence in told.sentences:
        say(sentence)
    reliable = {"valid", "failed", "ended"} if found.mostly_forfeited else set(found.numbers)
    lines = [
        line for number, line in zip(ct.profiles.main_numbers(found), told.metrics, strict=True)
        if number.of.key in reliable
    ]  # fmt: skip
    for line in lines:
        say(line)
    if any(FEW_MARK in line for line in lines):
        say(f"{FEW_MARK} Of few instances: the interval may be too narrow or too wide.")
    for one in held.changes:
        if one.told:
            say(f"changed: {one}")
    if held.changes and not any(one.told for one in held.changes):
        more = found.battery.larger(found.size)
        hint = " (a larger size detects smaller changes)" if more else ""
        say(f"changed: no metric by more than chance would{hint}")
    for decision in held.decisions:
        say(str(decision))
    say(f"The page is at {page.absolute()}, its numbers in {file.absolute()}")


def _plain(decision: ct.profiles.Decision) -> dict[str, Any]:
    return {"gate": str(decision.gate), "verdict": decision.verdict.value, "said": str(decision)}
