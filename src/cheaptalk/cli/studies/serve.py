"""The commands ``serve``, ``view`` and ``study bots``, which start or test web servers."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.correcting import apply_corrections
from cheaptalk.cli.shared.lookup import FoundStudy, find_study, opened
from cheaptalk.cli.shared.playing import warn_about_models
from cheaptalk.cli.shared.printing import hint, print_json, say
from cheaptalk.cli.shared.sentences import counted
from cheaptalk.extras import needing


def serve(
    study: Annotated[str | None, opt.Settings(autocompletion=completion.studies)] = None,
    /,
    player: opt.Player = None,
    roster: opt.Roster = None,
    replace: opt.Replace = None,
    demo: bool = False,
    data_dir: Path = Path("laboratory"),
    store: opt.Store = opt.DEFAULT_STORE,
    reason: opt.Reason = None,
    port: opt.Port = 8643,
    host: str = "127.0.0.1",
    public_url: str | None = None,
    allow_private_hosts: bool = False,
) -> None:
    """Start the web server for participants or researchers.

    If you name a study, participants play its matches with people in the browser; cheaptalk run
    plays the others, before or after. Otherwise, the server runs the laboratory: a website where
    researchers create, run and analyse studies.

    Args:
        study: Study file, preset or study in the store with human players. Default: start the
            laboratory website.
        demo: Serve a demo of all games, against strategies or people.
        data_dir: Keep the laboratory's data in this folder (if no STUDY is given).
        host: Listen on this address; 0.0.0.0 accepts connections from the network.
        public_url: Use the public address of a reverse proxy, e.g. https://play.example.org.
        allow_private_hosts: Allow model servers at private addresses, e.g. localhost, in the
            laboratory.
    """
    if study is not None and demo:
        raise typer.BadParameter("not valid with --demo; remove one of them", param_hint="STUDY")
    for option, given in (
        ("--player", player),
        ("--roster", roster),
        ("--replace", replace),
        ("--reason", reason),
    ):
        if study is None and given:
            raise typer.BadParameter("only valid with a STUDY", param_hint=option)

    async def main() -> None:
        with ct.web.listen(port, host) as sock:
            address = public or ct.web.own_address(sock)
            if spec is None:
                async with ct.web.open_laboratory(
                    data_dir, address, private_models=allow_private_hosts
                ) as site:
                    say(f"Open {site.link} (stop with Ctrl-C; all data are kept)")
                    for note in site.notes:
                        say(note)
                    await ct.web.serve_app(site.app, sock, address)
                return
            prefix = "Open" if spec.people is None else "Participants join at"
            async with ct.web.open_site(spec, store, address) as site:
                say(f"{prefix} {site.link} (stop with Ctrl-C; matches resume after a restart)")
                if note := ct.web.access_note(address, host):
                    say(note)
                await ct.web.serve_app(site.app, sock, address)

    with needing("analysis"):
        spec = ct.web.demo() if demo else None
        if study is not None:
            found = find_study(study, store, player, roster, replace, prefer_stored=True)
            spec = found.study
            apply_corrections(spec, store, reason)
            _warn(found, store)
        public = None if public_url is None else ct.web.public_address(public_url)
        asyncio.run(main())


def _warn(found: FoundStudy, store: str) -> None:
    """Print warnings about a study's models, and its texts without translations."""
    with opened(store) as existing:
        planned = ct.studies.plan_in_store(found.study, existing)
        warn_about_models(found, planned)
    if participants := ct.studies.preview_participants(planned):
        for line in participants.translation_lines:
            say(line)


def view(
    study: opt.StoredStudy | None = None,
    /,
    store: opt.Store = opt.DEFAULT_STORE,
    port: opt.Port = opt.PORT,
) -> None:
    """Browse recorded matches in a local web viewer.

    The viewer accepts connections from this computer only.

    Args:
        study: Open the page of this study.
    """
    with ct.Store.open(store) as opened:
        path = f"studies/{opened.study(study).name}" if study else ""
        with needing("analysis"):
            listen, serve = ct.web.listen, ct.web.serve
        with listen(port) as sock:
            host, number = sock.getsockname()
            say(f"Open http://{host}:{number}/{path} (stop with Ctrl-C)")
            serve(opened, sock)


def bots(
    url: str,
    /,
    bots: opt.Count = 10,
    think_time: opt.Seconds = 5.0,
    matches_per_bot: opt.Count = 1,
    game: Annotated[list[opt.GameName] | None, opt.Settings(metavar="NAME")] = None,
    study: Annotated[str | None, opt.Settings(autocompletion=completion.studies)] = None,
    answers: Annotated[Path | None, opt.Settings(exists=True, dir_okay=False)] = None,
    seed: Annotated[int, opt.Settings(min=0)] = 0,
    json: opt.Json = False,
) -> None:
    """Run bots that play through the web pages.

    The command prints page load times, refused moves and errors. The exit status is 1 after an
    error.

    Args:
        url: Address to start from: the gallery, a game's page, an invitation, or the
            participants' link with {id} in place of the participant ID.
        bots: Run N bots at once.
        think_time: Wait this long, on average, before each click.
        matches_per_bot: Play N matches per bot.
        game: Only play this game. Repeatable.
        study: Use this study's correct answers to screening and comprehension questions: a study
            file or preset.
        answers: Read answers to survey and quiz questions from this YAML file (NAME: ANSWER).
            Bots guess all other answers.
        seed: Set the random seed of the bots' choices.
    """
    started = time.perf_counter()
    prepared = _correct_answers(study) | _read_answers(answers)
    crowd = ct.web.Crowd(url, bots, think_time, matches_per_bot, game or (), seed, answers=prepared)
    tally = asyncio.run(crowd.play())
    seconds = time.perf_counter() - started
    if json:
        print_json(tally.summary() | {"took": seconds})
    else:
        say(
            f"{counted(bots, 'bot')} played {counted(tally.matches, 'match')} with "
            f"{counted(tally.moves, 'move')} in {seconds:,.0f} s; {tally.refused:,} moves were "
            "refused"
        )
        say(
            f"{counted(tally.pages, 'page')}: load time {tally.slowest(50):.3f} s (median), "
            f"{tally.slowest(95):.3f} s (95th percentile), {tally.slowest(100):.3f} s (max)"
        )
        lost = counted(tally.lost, "connection")
        say(f"{counted(tally.slowed, 'request')} rate limited, {lost} lost")
        if tally.endings:
            endings = ", ".join(f"{kind} {count:,}" for kind, count in tally.endings.most_common())
            say(f"Visits by outcome: {endings}")
            if tally.endings["screened_out"] and not prepared:
                hint("to answer comprehension questions correctly, add --study STUDY")
        for error, count in tally.errors.most_common():
            say(f"{count:,} x {error}")
    if tally.errors:
        raise typer.Exit(1)


def _correct_answers(study: str | None) -> dict[str, str]:
    """Return the correct answers to the questions of a study file or preset."""
    people = None if study is None else ct.studies.study_of(study).people
    return ct.studies.correct_answers(people.path) if people else {}


def _read_answers(answers: Path | None) -> dict[str, str]:
    """Read answers by name from a YAML file, and convert true and false to yes and no."""
    try:
        data = {} if answers is None else ct.yaml_files.read_yaml(answers)
    except ValueError as error:
        raise ct.CheaptalkError(str(error)) from None
    if not isinstance(data, dict):
        raise ct.CheaptalkError(f"{answers} is not a mapping; expected lines NAME: ANSWER")
    booleans = {"True": "yes", "False": "no"}
    return {str(name): booleans.get(str(value), str(value)) for name, value in data.items()}
