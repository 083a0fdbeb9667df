"""The command with which a person plays at the terminal: play."""

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
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.lookup import check_free, opened
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    ParametersOption,
    StoreOption,
    parameters,
    player_entry,
)
from cheaptalk.cli.shared.printing import err, escaped, hint, out, say, say_boxed
from cheaptalk.cli.shared.sentences import at_store

Exchange: TypeAlias = "tuple[ct.players.PersonCall, str]"
"""A question to a person, and what they answered, as text."""
PendingQuestion = tuple["ct.players.PersonCall", "Future[ct.models.Reply]"]


def play(
    game: Annotated[
        str, typer.Argument(help="The game, such as bargaining.", autocompletion=completion.games)
    ],
    against: Annotated[
        str,
        typer.Option(
            help="Who fills all other places: a strategy, a model string such as ollama/llama3, "
            "or YAML such as '{strategy: linear, start: 0.9}'.",
            autocompletion=completion.players,
            metavar="SPEC",
        ),
    ] = "random",
    place: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Your place, such as bob or player_3.",
            autocompletion=completion.places,
            show_default="the first",
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(
            help="The wording in which you are told and asked; cheaptalk games GAME lists them.",
            metavar="NAME",
            autocompletion=completion.styles,
            show_default="the game's first",
        ),
    ] = None,
    set_: ParametersOption = None,
    seed: Annotated[int | None, typer.Option(help="Of the deal.", show_default="random")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Play a game yourself at the terminal; each match is recorded and counted like any other."""
    box = ct.game_box(game)
    words = ct.styles.style(game, style).name
    check_free(store)
    number = secrets.randbelow(2**31) if seed is None else seed
    rival = against.strip()
    worded = {"style": words} if style else {}
    me = "you" if words == next(iter(box.styles)) else f"you, {words}"
    written = {
        "name": f"played-{game}",
        "description": "Played at a terminal, each deal by a seed of its own.",
        "seed": number,
        "games": [{"game": game, "fixed": parameters(set_ or [])}],
        "players": {me: {"person": "terminal"} | worded, rival: player_entry(against)},
    }
    study = ct.studies.parse_study(written, "cheaptalk play")
    places = list(study.games[0].configurations()[0].places)
    mine = place or places[0]
    if mine not in places:
        raise _no_place(mine, places)
    seating = [me if one == mine else rival for one in places]
    study = study.model_copy(update={"pairing": [seating]})
    (match,) = ct.studies.plan(study).matches
    match = match._replace(dealt=match.dealt._replace(key=str(number)))
    with opened(store) as earlier:
        planned = ct.studies.Plan.of(_with_earlier(study, earlier), [match])
        terminal = _Terminal(_answered(earlier, match.id))
        checked = ct.studies.check(planned, earlier, ask_person=terminal.ask)
    again = ["cheaptalk", "play", game, "--as", mine, "--against", against]
    again += ["--style", words] if style else []
    again += [part for one in set_ or [] for part in ("--set", one)]
    again += ["--seed", str(number), "--store", ct.records.store_name(store)]
    with ct.Store.open(store, create=True) as there:
        try:
            progress = terminal.play(checked, there)
        except KeyboardInterrupt:
            say(f"stopped; go on with: {shlex.join(again)}", to=err, whole=True)
            raise
        record = there.find(match.id)
    if progress.before:
        say("this match was played before; leave --seed out to play another one")
    _end(record, mine, store)
    if progress.failed:
        raise typer.Exit(1)


def _with_earlier(study: ct.Study, store: ct.Store | None) -> ct.Study:
    """The study with the games and rivals of earlier matches among its own."""
    if store is None:
        return study
    try:
        spec = store.study(study.name, counted=False).spec
        earlier = ct.studies.parse_study(spec, study.name)
    except ct.CheaptalkError:  # there is none, or a game or player of it is no longer installed
        return study
    games = [*earlier.games, *(one for one in study.games if one not in earlier.games)]
    players, factors = earlier.players | study.players, earlier.factors | study.factors
    return study.model_copy(update={"games": games, "players": players, "factors": factors})


def _answered(store: ct.Store | None, match: str) -> list[Exchange]:
    """What a person was asked in a match under way and answered, in order."""
    calls = store.open_calls(match) if store is not None else []
    return [
        (ct.players.PersonCall.model_validate(one["call"]), one["reply"]["text"])
        for one in calls
        if one["state"] == "answered" and "question" in one["call"]
    ]


def _no_place(wanted: str, places: list[str]) -> ct.CheaptalkError:
    """A place that is not there; of numbered ones, which there are."""
    stem, _, number = wanted.rpartition("_")
    if number.isdigit() and f"{stem}_1" in places:
        return ct.CheaptalkError(
            f'unknown place "{wanted}": the places are {places[0]} to {places[-1]}'
        )
    return ct.rules.unknown("place", wanted, places)


class _Terminal:
    """Asks a person in the main thread, where Ctrl-C is heard, while the match runs in another.

    Args:
        answered: what they were asked in this match and answered, when they played it last.
    """

    def __init__(self, answered: Sequence[Exchange]) -> None:
        self.answered = answered
        self.questions: SimpleQueue[PendingQuestion | None] = SimpleQueue()

    async def ask(self, call: ct.players.PersonCall) -> ct.models.Reply:
        """Put a question to the main thread and wait for the person's answer."""
        answer: Future[ct.models.Reply] = Future()
        self.questions.put((call, answer))
        return await asyncio.wrap_future(answer)

    def play(self, checked: ct.studies.Checked, store: ct.Store) -> ct.Progress:
        """Play, asking the person whenever it is their turn.

        Raises:
            KeyboardInterrupt: the person left; an answer that a model still gives is recorded.
        """
        left, told = False, False
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(ct.run, checked, store, ask_person=self.ask, concurrency=1)
            running.add_done_callback(lambda _: self.questions.put(None))
            while not running.done():
                question: PendingQuestion | None = None
                try:
                    question = self.questions.get()
                    if question is not None and not left:
                        if not told:
                            _retell(self.answered, question[0])
                        question[1].set_result(_ask(question[0], retell=not told))
                        told = True
                        continue
                except (KeyboardInterrupt, EOFError):
                    left = True
                    with suppress(KeyboardInterrupt):
                        err.print("\nstopping once what is under way is recorded")
                if question is not None:
                    question[1].set_exception(ct.studies.Halted(ct.studies.INTERRUPTED))
        return running.result()


def _retell(answered: Sequence[Exchange], now: ct.players.PersonCall) -> None:
    """Show all that a person who comes back was told, asked and answered before this question."""
    for number, (call, text) in enumerate(answered):
        if (call.news, call.question) == (now.news, now.question):
            return
        if call.problem is None:
            _show(call)
        after = answered[number + 1][0] if number + 1 < len(answered) else now
        if after.problem is None:
            out.print(f"You answered {escaped(text)}\n")


def _show(call: ct.players.PersonCall) -> None:
    for paragraph in call.news:
        say_boxed(paragraph)
    out.print(escaped(call.question))


def _ask(call: ct.players.PersonCall, *, retell: bool) -> ct.models.Reply:
    """Show a person what is new and let them fill in the form.

    Args:
        retell: show it although only their last answer was refused: they come back to the match.
    """
    started = time.monotonic()
    if call.problem is None or retell:
        _show(call)
    if call.problem is not None:
        out.print(f"[red]That does not count: {escaped(call.problem)}.[/]")
    text = json.dumps(_filled_in(call.form.get("properties", {})))
    return ct.models.Reply(text=text, seconds=round(time.monotonic() - started, 4))


def _filled_in(fields: dict[str, dict[str, Any]]) -> dict[str, object]:
    """Ask for the fields of an answer; words that may be left out stand for all else that may."""
    answer: dict[str, object] = {}
    alone = False
    others = [name for name, spec in fields.items() if name != "message" and _optional(spec)]
    for name, spec in fields.items():
        if alone and name in others:
            continue
        instead = f"or nothing, to give {_listed(others)} instead" if others else "or nothing"
        answer[name] = _field(name, spec, instead if name == "message" else "or nothing")
        alone = alone or (name == "message" and bool(others) and answer[name] is not None)
    return answer


def _optional(spec: dict[str, Any]) -> bool:
    return {"type": "null"} in spec.get("anyOf", ())


def _listed(names: list[str]) -> str:
    """Names in a sentence.

    >>> _listed(["books", "hats", "balls"])
    'books, hats and balls'
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


NUMBERS = {"integer": "a whole number", "number": "a number"}


def _field(name: str, spec: dict[str, Any], without: str) -> object:
    """Ask for one field of the answer; a choice may be shortened to its first letters.

    One that may be left out is, where nothing is written.

    Args:
        without: how that is said.
    """
    optional, meaning = _optional(spec), spec.get("description")
    kinds = spec.get("anyOf", [spec])
    spec = next((kind for kind in kinds if kind != {"type": "null"}), spec)
    options: dict[str, object] = {str(option): option for option in spec.get("enum", ())}
    kind = meaning or (NUMBERS.get(spec.get("type", "")) if optional else None)
    hints = [" / ".join(options) if options else kind, without if optional else None]
    hint = f" ({', '.join(filter(None, hints))})" if any(hints) else ""
    while True:
        out.print(
            f"[bold]{escaped(name.replace('_', ' '))}[/]{escaped(hint)}: ",
            end="",
        )
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        text = line.rstrip("\n")
        if optional and not text:
            return None
        if spec.get("type") == "number" and not _is_amount(text):
            out.print("[red]Please write a number, such as 250.[/]")
            continue
        if not options:
            return text if spec.get("type") == "string" else _plain(text)
        chosen = _chosen(text.strip().casefold(), options)
        if len(chosen) == 1:
            return options[chosen[0]]
        out.print(f"[red]Please write one of {escaped(', '.join(options))}.[/]")


def _chosen(text: str, options: dict[str, object]) -> list[str]:
    """The options that a text can mean; one that it names in full goes before longer ones."""
    whole = [option for option in options if option.casefold() == text]
    return whole or [name for name in options if text and name.casefold().startswith(text)]


def _is_amount(text: str) -> bool:
    """Whether a text is a number, as people write amounts: ``$1,250`` too."""
    try:
        return math.isfinite(float(text.strip().removeprefix("$").replace(",", "")))
    except ValueError:
        return False


def _plain(text: str) -> object:
    """A number, true, false or a list as JSON has it; anything else for the form to refuse."""
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    return value


def _end(record: ct.MatchRecord, mine: str, store: str) -> None:
    """Show what the person heard after their last answer, and what they got."""
    seats = {seat.name for seat in record.rules.seats if seat.place == mine}
    lines = ct.records.transcript(record) if record.body.get("answers") else []
    heard = [line for line in lines if line.seat in seats]
    asked = [place for place, line in enumerate(heard) if line.kind is not None]
    for line in heard[asked[-1] + 1 :] if asked else ():
        say_boxed(line.text, "the end")
    if record.payoffs is None:
        say(f"The match ended as {record.status.value}: {record.why}")
    else:
        out.print(f"{mine}: {record.payoffs[mine]:,.10g}")
    again = f"cheaptalk show {record.id} {at_store(store)}"
    hint(f"\nRead it again with: {again}")
