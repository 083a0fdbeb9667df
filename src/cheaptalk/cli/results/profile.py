"""The ``profile`` command, which tests an agent and compares it with baselines."""

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
from cheaptalk.atomic_files import whole_file
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import FoundStudy
from cheaptalk.cli.shared.playing import play_study
from cheaptalk.cli.shared.printing import err, errors, print_json, say
from cheaptalk.cli.shared.sentences import at_store, counted
from cheaptalk.extras import ANALYSIS, needing
from cheaptalk.text import FEW_MARK

EXIT_UNPLAYED = 4
"""Exit status if matches remain to be played, so all gates are undecided."""
EXIT_OPEN = 3
"""Exit status if the data are inconclusive."""
AGENT_DEADLINE = 60
"""Default response timeout of an agent, in seconds; a request that times out is sent twice."""
PANEL = "panel/"
"""Prefix of a player's name that selects one of the battery's baselines."""


def profile(
    context: typer.Context,
    player: Annotated[
        str, opt.Settings(metavar="PLAYER", show_default=False, autocompletion=completion.players)
    ],
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    label: Annotated[str | None, opt.Settings(show_default="from PLAYER")] = None,
    size: opt.Name = "small",
    battery: Annotated[
        str | None, opt.Settings(metavar="NAME|FILE", show_default="the latest built-in battery")
    ] = None,
    add_baseline: Annotated[
        list[str] | None, opt.Settings(metavar="PLAYER", autocompletion=completion.players)
    ] = None,
    require: Annotated[list[str] | None, opt.Settings(metavar="GATE")] = None,
    compare_to: opt.File | None = None,
    out: Annotated[
        opt.NewPage | None,
        opt.Settings(show_default="LABEL-profile.html; LABEL-SIZE-profile.html for larger sizes"),
    ] = None,
    json_file: Annotated[
        opt.NewFile | None,
        opt.Settings(show_default="LABEL-profile.json; LABEL-SIZE-profile.json for larger sizes"),
    ] = None,
    junit: opt.NewFile | None = None,
    viewer: opt.Viewer = opt.VIEWER,
    *,
    options: opt.PlayOptions,
) -> None:
    """Test an agent for weaknesses and compare it with baselines.

    The command plays a battery of games with the agent and with baselines on the same instances. It
    writes a page that starts with the weaknesses found. Run the command again to continue; matches
    in the store are not played again.

    Exit statuses: 0 if all gates of --require pass, 1 if a gate fails, 3 if a gate is open because
    its confidence interval contains the limit, or if the player forfeited most of its matches, 4 if
    matches remain to be played or failed with errors. With --allow-failures, failed matches do not
    change the status.

    Args:
        player: Player to test: a model, agent/NAME@URL, a strategy, ROSTER:LABEL, a roster
            entry in YAML, or panel/NAME (one of the baselines).

    Profile:
        label: Use this label for the player.
        size: Set the number of matches: small (about 550) or standard (5 times as many).
        battery: Use this battery of games and baselines: a name or a YAML file.
        add_baseline: Add a player to the baselines, e.g. a reference model. Repeatable.
        require: Exit with status 1 if a metric fails this gate, e.g. 'earned >= 0.45'.
            Repeatable.
        compare_to: Compare with an earlier profile (JSON file), paired by instance.

    Output:
        out: Write the profile to this HTML file.
        json_file: Write the metrics to this JSON file, e.g. for --compare-to.
        junit: Write the results of the gates as JUnit XML to this file.
    """
    with needing("analysis", *ANALYSIS):
        chosen = ct.profiles.battery(battery or ct.profiles.LATEST)
        if add_baseline:
            chosen = chosen.beside({_name_of(spec): _entry(spec) for spec in add_baseline})
        gates = [ct.profiles.gate(text, chosen) for text in require or ()]
        if compare_to is None and (change_gates := [gate for gate in gates if gate.of_change]):
            raise ct.CheaptalkError(f"{change_gates[0]}: a gate on a change requires --compare-to")
        if junit is not None and not gates:
            raise ct.CheaptalkError(
                "--junit requires at least one gate; add one, e.g. --require 'findings <= 0'"
            )
        chosen.size(size)
        earlier = None if compare_to is None else ct.profiles.read_profile(compare_to, chosen, size)
        label = label or _name_of(player)
        smallest = chosen.size(size) == min(chosen.sizes.values())
        stem = f"{label}-profile" if smallest else f"{label}-{size}-profile"
        page, file = out or Path(f"{stem}.html"), json_file or Path(f"{stem}.json")
        entry = _member(chosen, player) if player.startswith(PANEL) else _entry(player)
        with _naming(f"{label} in battery {chosen.name}"):
            study = chosen.study(label, entry, size)
        if json_file is None and not options.yes:
            _check_same_player(file, label, entry)
        opt.check_writable(page, file, *([] if junit is None else [junit]))
        if compare_to is not None and compare_to.resolve() in (file.resolve(), page.resolve()):
            raise ct.CheaptalkError(
                f"--compare-to {compare_to} would be overwritten; set another --json-file or --out"
            )
        playing = replace(options, allow_failures=True)
        played = play_study(
            study.name, FoundStudy(study), store, playing, again=opt.retyped(context)
        )
        if notice := _all_reused(label, entry, played):
            say(notice, to=errors if compare_to else err, wrap=False)
        with ct.Store.open(store) as opened, err.status(f"{label}: reading matches"):
            with _unplayed(label, gates, junit):
                profile = ct.profiles.profile_of(opened, study.name, label, entry, chosen, size)
            to_play = _to_play(study, opened, options.game or ())
            unplayed = max(0, to_play - sum(profile.failures.values()))
            profile = replace(profile, unplayed=unplayed)
            forfeits = _forfeit_notice(profile, store)
            metric_changes = [] if earlier is None else ct.profiles.changes(profile, earlier)
            decisions = [ct.profiles.decide(profile, gate, metric_changes) for gate in gates]
            finding_changes = (
                [] if earlier is None else ct.profiles.finding_changes(profile, earlier)
            )
            since = earlier["player"] if earlier else ""
            results = ct.profiles.Gated(decisions, since, metric_changes, finding_changes)
            ct.profiles.write_profile(opened, profile, page, held=results, viewer=viewer)
    profile.write(file)
    _write_junit(junit, label, decisions)
    if options.json:
        print_json(
            profile.as_json()
            | {
                "gates": [_plain(decision) for decision in decisions],
                "changes": [change._asdict() for change in metric_changes],
                "finding_changes": [change._asdict() for change in finding_changes],
                "page": str(page.absolute()),
            }
        )
    else:
        _print_summary(profile, results, page, file)
    if profile.failed:
        say(f"{profile.failed}; to play them, run: {opt.retyped(context)}", to=errors, wrap=False)
    if forfeits is not None:
        say(forfeits, to=errors, wrap=False)
    raise typer.Exit(_exit_status(profile, decisions, options))


def _to_play(study: ct.Study, store: ct.Store, games: Sequence[str]) -> int:
    """Return the number of a profile's matches in these games, or in all, that have not ended."""
    matches = ct.studies.restrict_plan(study, store, games=games).matches
    statuses = store.statuses(matches.ids())
    settled = (ct.records.Status.FINISHED, ct.records.Status.FORFEITED)
    return len(matches) - sum(status in settled for status in statuses.values())


def _exit_status(
    profile: ct.profiles.Profile,
    decisions: Sequence[ct.profiles.Decision],
    options: opt.PlayOptions,
) -> int:
    """Return the exit status of a profile.

    Unplayed matches could change every verdict, so their status has priority. A failed gate has
    priority over failed matches, which can be the reason why the gate failed.
    """
    if profile.unplayed:
        return EXIT_UNPLAYED
    status = ct.profiles.exit_status(decisions)
    if profile.mostly_forfeited and status == 0:
        status = EXIT_OPEN
    if profile.failures and not options.allow_failures and status != 1:
        return EXIT_UNPLAYED
    return status


def _check_same_player(file: Path, label: str, entry: ct.players.RosterEntry) -> None:
    """Check that a profile file doesn't belong to another player with the same label."""
    try:
        previous = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    digest = previous.get("entry") if isinstance(previous, dict) else None
    if digest and digest != ct.profiles.entry_digest(entry):
        raise ct.CheaptalkError(
            f"{file} is the profile of another player with the label {label}; set another "
            "--label or --json-file, or overwrite it with --yes"
        )


def _all_reused(label: str, entry: ct.players.RosterEntry, played: ct.Progress) -> str:
    """Return a notice if all matches of a profile were already in the store, else an empty text."""
    if not played.before or played.here != played.before or played.left:
        return ""
    return (
        f"{label}: all {played.before:,} matches were already in the store; the player was not "
        f"called{_if_changed(entry)}"
    )


def _write_junit(file: Path | None, label: str, decisions: Sequence[ct.profiles.Decision]) -> None:
    if file is not None:
        with whole_file(file) as xml:
            xml.write(ct.profiles.junit(label, decisions))


@contextmanager
def _unplayed(label: str, gates: Sequence[ct.profiles.Gate], junit: Path | None) -> Iterator[None]:
    """Report all gates as undecided and exit with an error status if no match has ended."""
    try:
        yield
    except ct.profiles.NoFinishedMatch as error:
        say(f"error: {error}", to=errors, wrap=False)
        verdict, why = ct.profiles.Verdict.OPEN, str(error)
        undecided = [ct.profiles.Decision(gate, verdict, None, why=why) for gate in gates]
        _write_junit(junit, label, undecided)
        raise typer.Exit(EXIT_UNPLAYED) from None


def _member(battery: ct.profiles.Battery, player: str) -> ct.players.RosterEntry:
    name = player.removeprefix(PANEL)
    if name not in battery.panel:
        raise ct.CheaptalkError(
            f"{battery.name} has no baseline {ct.rules.suggest(name, list(battery.panel))}"
        )
    return battery.panel[name].player


def _entry(player: str) -> ct.players.RosterEntry:
    """Return the roster entry of a player given as ROSTER:LABEL, strategy, model string or YAML."""
    try:
        entries = opt.roster_players(player)
    except ValueError as error:
        raise ct.CheaptalkError(str(error)) from None
    if len(entries) > 1:
        raise ct.CheaptalkError(f"{player}: expected one player, got {len(entries)}")
    for entry in entries.values():
        return ct.players.RosterEntry.model_validate(entry)
    with _naming(player):
        entry = opt.player_entry(player)
        if isinstance(entry, dict) and str(entry.get("model", "")).startswith("agent/"):
            entry = {"deadline": AGENT_DEADLINE} | entry
        return ct.players.RosterEntry.model_validate(entry)


def _name_of(player: str) -> str:
    plain = player.partition("@")[0].rpartition("/")[2]
    return re.sub(r"[^\w.-]+", "-", plain).strip("-.")[:40] or "player"


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Prefix errors about a player or battery with its source."""
    try:
        yield
    except ValueError as error:
        problem = ct.rules.errors.problem_of(error) or error
        raise ct.studies.StudyError(f"{source}: {problem}") from None


def _if_changed(entry: ct.players.RosterEntry) -> str:
    """Return advice for a model or agent that has changed but kept its name."""
    model = str(entry.written().get("model", ""))
    kind, _, rest = model.partition("/")
    if kind in ("agent", "remote"):
        name, at, address = rest.partition("@")
        return f"; if the agent has changed, test it as {kind}/{name}-2{at}{address}"
    return "; if the model has changed, test it with another --store" if model else ""


def _forfeit_notice(profile: ct.profiles.Profile, store: str) -> str | None:
    """Return a notice on forfeited matches and how to list them; None without forfeits."""
    if not profile.forfeits:
        return None
    matches = profile.seats.filter(player=profile.player)["match_id"].n_unique()
    scope = "; all other metrics exclude these matches" if profile.mostly_forfeited else ""
    return (
        f"{profile.player} forfeited {profile.forfeits:,} of {counted(matches, 'match')}{scope}; "
        f"show the reasons with: cheaptalk match list {profile.study} --state forfeited "
        f"{at_store(store)}"
    )


def _print_summary(
    profile: ct.profiles.Profile, results: ct.profiles.Gated, page: Path, file: Path
) -> None:
    for finding_change in results.findings:
        say(str(finding_change))
    summary = ct.profiles.summary(profile)
    for sentence in summary.sentences:
        say(sentence)
    reliable = {"valid", "failed", "ended"} if profile.mostly_forfeited else set(profile.numbers)
    pairs = zip(ct.profiles.main_numbers(profile), summary.metrics, strict=True)
    lines = [line for number, line in pairs if number.of.key in reliable]
    for line in lines:
        say(line)
    if any(FEW_MARK in line for line in lines):
        say(f"{FEW_MARK} The interval is based on few instances and may be too narrow or too wide.")
    for change in results.changes:
        if change.significant:
            say(f"changed: {change}")
    if results.changes and not any(change.significant for change in results.changes):
        more = profile.battery.larger(profile.size)
        hint = " (a larger --size detects smaller changes)" if more else ""
        say(f"no metric changed significantly{hint}")
    for decision in results.decisions:
        say(str(decision))
    say(f"Page written to {page.absolute()}, metrics to {file.absolute()}")


def _plain(decision: ct.profiles.Decision) -> dict[str, Any]:
    return {"gate": str(decision.gate), "verdict": decision.verdict.value, "said": str(decision)}
