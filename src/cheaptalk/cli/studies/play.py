"""The ``play`` command, which lets a person play at the terminal."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import Annotated, Any, TypeAlias

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.lookup import check_free, opened
from cheaptalk.cli.shared.printing import err, escaped, hint, out, say, say_boxed
from cheaptalk.cli.shared.sentences import at_store

Exchange: TypeAlias = "tuple[ct.players.PersonCall, str]"
"""A decision request to a person, and the person's response as text."""
PendingRequest = tuple["ct.players.PersonCall", "Future[ct.models.Reply]"]


def play(
    game: opt.GameName,
    /,
    opponent: opt.PlayerSpec = "random",
    seat: opt.Seat = None,
    style: opt.PromptStyle = None,
    set_: opt.Parameters = None,
    seed: Annotated[int | None, opt.Settings(show_default="random")] = None,
    store: opt.Store = opt.DEFAULT_STORE,
) -> None:
    """Play a game yourself at the terminal.

    The match is recorded in the store. You can stop a match and continue it later.

    Args:
        game: Name of the game, e.g. bargaining.
        opponent: Use this player in all other seats: a strategy, a model such as ollama/llama3,
            or YAML such as '{strategy: linear, start: 0.9}'.
        seed: Set the random seed of the instance.
    """
    spec = ct.get_game(game)
    style_name = ct.styles.style(game, style).name
    rules = opt.configured_game(game, set_ or [])
    seats = list(rules.seats)
    own_seat = seat or seats[0]
    if own_seat not in seats:
        raise _unknown_seat(own_seat, seats)
    check_free(store)
    number = secrets.randbelow(2**31) if seed is None else seed
    rival = opponent.strip()
    style_setting = {"style": style_name} if style else {}
    label = "you" if style_name == next(iter(spec.styles)) else f"you, {style_name}"
    data = {
        "name": f"played-{game}",
        "description": "Played at a terminal; each instance has its own seed.",
        "seed": number,
        "games": [{"game": game, "fixed": opt.parameters(set_ or [])}],
        "players": {
            label: {"person": "terminal"} | style_setting,
            rival: opt.player_entry(opponent),
        },
    }
    seating = [label if name == own_seat else rival for name in seats]
    try:
        study = ct.studies.parse_study(data | {"pairing": [seating]}, "cheaptalk play")
        (match,) = ct.studies.plan(study).matches
    except ct.studies.StudyError as error:
        if error.problems and error.problems[0].location[:2] == ("players", rival):
            problem = error.problems[0]
            named = problem._replace(location=("--opponent", *problem.location[2:]))
            raise ct.studies.StudyError(str(named)) from None
        raise ct.studies.StudyError(str(error).removeprefix("cheaptalk play: ")) from None
    match = match._replace(planned_instance=match.planned_instance._replace(key=str(number)))
    with opened(store) as earlier:
        planned = ct.studies.Plan.of(_with_earlier(study, earlier), [match])
        terminal = _Terminal(_earlier_exchanges(earlier, match.id))
        checked = ct.studies.check(planned, earlier, ask_person=terminal.ask)
    again = ["cheaptalk", "play", game, "--seat", own_seat, "--opponent", opponent]
    again += ["--prompt-style", style_name] if style else []
    again += [part for setting in set_ or [] for part in ("--set", setting)]
    again += ["--seed", str(number), "--store", ct.records.store_name(store)]
    with ct.Store.open(store, create=True) as opened_store:
        try:
            progress = terminal.play(checked, opened_store)
        except KeyboardInterrupt:
            say(f"stopped; continue with: {shlex.join(again)}", to=err, wrap=False)
            raise
        record = opened_store.find(match.id)
    if progress.before:
        say("this match was already played; to play a new match, omit --seed")
    _print_end(record, own_seat, store)
    if progress.failed:
        raise typer.Exit(1)


def _with_earlier(study: ct.Study, store: ct.Store | None) -> ct.Study:
    """Add the games and opponents of earlier matches to the study."""
    if store is None:
        return study
    try:
        spec = store.study(study.name, counted=False).spec
        earlier = ct.studies.parse_study(spec, study.name)
    except ct.CheaptalkError:  # no earlier study, or one of its games or players is not installed
        return study
    games = [*earlier.games, *(grid for grid in study.games if grid not in earlier.games)]
    players, factors = earlier.players | study.players, earlier.factors | study.factors
    return study.model_copy(update={"games": games, "players": players, "factors": factors})


def _earlier_exchanges(store: ct.Store | None, match: str) -> list[Exchange]:
    """Return the decision requests and responses of an interrupted match, in order."""
    return [
        (ct.players.PersonCall.model_validate(call["call"]), call["reply"]["text"])
        for call in (store.open_calls(match) if store is not None else ())
        if call["state"] == "answered" and "question" in call["call"]
    ]


def _unknown_seat(seat: str, seats: list[str]) -> ct.CheaptalkError:
    """Return an error about an unknown seat, which lists numbered seats as a range."""
    stem, _, number = seat.rpartition("_")
    if number.isdigit() and f"{stem}_1" in seats:
        return ct.CheaptalkError(f'unknown seat "{seat}"; expected {seats[0]} to {seats[-1]}')
    return ct.rules.unknown("seat", seat, seats)


class _Terminal:
    """A terminal at which a person plays: prompts in the main thread, the match in another."""

    def __init__(self, earlier: Sequence[Exchange]) -> None:
        self.earlier = earlier
        self.requests: SimpleQueue[PendingRequest | None] = SimpleQueue()

    async def ask(self, call: ct.players.PersonCall) -> ct.models.Reply:
        response: Future[ct.models.Reply] = Future()
        self.requests.put((call, response))
        return await asyncio.wrap_future(response)

    def play(self, checked: ct.studies.Checked, store: ct.Store) -> ct.Progress:
        """Play the match and prompt the person for each decision."""
        interrupted, resumed = False, False
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(ct.run, checked, store, ask_person=self.ask, concurrency=1)
            running.add_done_callback(lambda _: self.requests.put(None))
            while not running.done():
                request: PendingRequest | None = None
                try:
                    request = self.requests.get()
                    if request is not None and not interrupted:
                        if not resumed:
                            _show_earlier(self.earlier, request[0])
                        request[1].set_result(_prompt(request[0], show=not resumed))
                        resumed = True
                        continue
                except (KeyboardInterrupt, EOFError):
                    interrupted = True
                    with suppress(KeyboardInterrupt):
                        err.print("\nstopping; waiting for calls in flight to finish")
                if request is not None:
                    request[1].set_exception(ct.studies.Halted(ct.studies.INTERRUPTED))
        return running.result()


def _show_earlier(earlier: Sequence[Exchange], now: ct.players.PersonCall) -> None:
    for number, (call, text) in enumerate(earlier):
        if (call.news, call.question) == (now.news, now.question):
            return
        if call.problem is None:
            _show(call)
        following = earlier[number + 1][0] if number + 1 < len(earlier) else now
        if following.problem is None:
            out.print(f"You answered {escaped(text)}\n")


def _show(call: ct.players.PersonCall) -> None:
    for paragraph in call.news:
        say_boxed(paragraph)
    out.print(escaped(call.question))


def _prompt(call: ct.players.PersonCall, *, show: bool) -> ct.models.Reply:
    """Prompt for a response; ``show`` repeats the request after an invalid response."""
    started = time.monotonic()
    if call.problem is None or show:
        _show(call)
    if call.problem is not None:
        out.print(f"[red]Invalid response: {escaped(call.problem)}.[/]")
    text = json.dumps(_filled_in(call.form.get("properties", {})))
    return ct.models.Reply(text=text, seconds=round(time.monotonic() - started, 4))


def _filled_in(fields: dict[str, dict[str, Any]]) -> dict[str, object]:
    """Prompt for the fields of a response; after a message, skip all other optional fields."""
    response: dict[str, object] = {}
    only_message = False
    others = [name for name, spec in fields.items() if name != "message" and _optional(spec)]
    for name, spec in fields.items():
        if only_message and name in others:
            continue
        skip = "or press Enter to skip"
        if name == "message" and others:
            skip = f"or press Enter to give {_listed(others)} instead"
        response[name] = _field(name, spec, skip)
        only_message |= name == "message" and response[name] is not None
    return response


def _optional(spec: dict[str, Any]) -> bool:
    return {"type": "null"} in spec.get("anyOf", ())


def _listed(names: list[str]) -> str:
    """Return names joined by commas and "and".

    >>> _listed(["books", "hats", "balls"])
    'books, hats and balls'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


NUMBERS = {"integer": "an integer", "number": "a number"}


def _field(name: str, spec: dict[str, Any], skip: str) -> object:
    """Prompt for a field; optional fields may be skipped, and choices may be abbreviated."""
    optional, meaning = _optional(spec), spec.get("description")
    kinds = spec.get("anyOf", [spec])
    spec = next((kind for kind in kinds if kind != {"type": "null"}), spec)
    options: dict[str, object] = {str(option): option for option in spec.get("enum", ())}
    kind = meaning or (NUMBERS.get(spec.get("type", "")) if optional else None)
    hints = [" / ".join(options) if options else kind, skip if optional else None]
    hint = f" ({', '.join(filter(None, hints))})" if any(hints) else ""
    while True:
        out.print(f"[bold]{escaped(name.replace('_', ' '))}[/]{escaped(hint)}: ", end="")
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text = line.rstrip("\n")
        if optional and not text:
            return None
        if spec.get("type") == "number" and not _is_amount(text):
            out.print("[red]Please enter a number, e.g. 250.[/]")
            continue
        if not options:
            return text if spec.get("type") == "string" else _plain(text)
        typed = text.strip().casefold()
        matching = [name for name in options if name.casefold() == typed]
        matching = matching or [
            name for name in options if typed and name.casefold().startswith(typed)
        ]
        if len(matching) == 1:
            return options[matching[0]]
        out.print(f"[red]Please enter one of: {escaped(', '.join(options))}.[/]")


def _is_amount(text: str) -> bool:
    """Return whether a text is a number, possibly with a dollar sign and commas (``$1,250``)."""
    try:
        return math.isfinite(float(text.strip().removeprefix("$").replace(",", "")))
    except ValueError:
        return False


def _plain(text: str) -> object:
    """Parse a text as JSON; return invalid JSON unchanged, so that the form rejects it."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _print_end(record: ct.MatchRecord, own_seat: str, store: str) -> None:
    actors = {actor.name for actor in record.rules.actors if actor.seat == own_seat}
    lines = ct.records.transcript(record) if record.body.get("answers") else []
    observed = [line for line in lines if line.actor in actors]
    decisions = [index for index, line in enumerate(observed) if line.kind is not None]
    for line in observed[decisions[-1] + 1 :] if decisions else ():
        say_boxed(line.text, "End of the match")
    if record.payoffs is None:
        say(f"Match {record.status.value}: {record.why}")
    else:
        out.print(f"Payoff of {own_seat}: {record.payoffs[own_seat]:,.10g}")
    hint(f"\nShow the match again with: cheaptalk match show {record.id} {at_store(store)}")
