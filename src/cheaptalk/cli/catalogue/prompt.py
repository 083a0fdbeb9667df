"""The ``model prompt`` command, which shows the prompt that a model would receive."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import cheaptalk as ct
from cheaptalk.atomic_files import read_whole
from cheaptalk.cli.shared import options as opt
from cheaptalk.cli.shared.printing import out, print_json, print_table, say
from cheaptalk.cli.shared.sentences import counted

MAX_SEEDS = 100
"""Maximum number of sample matches in which to look for the requested turn."""


def prompt(
    game: opt.GameName,
    /,
    model: Annotated[str | None, opt.Settings(metavar="SPEC", show_default="script/legal")] = None,
    style: opt.PromptStyle = None,
    seat: opt.Seat = None,
    turn: opt.Count = 1,
    opponent: Annotated[opt.PlayerSpec | None, opt.Settings(show_default="random moves")] = None,
    set_: opt.Parameters = None,
    seed: Annotated[int | None, opt.Settings(show_default="the first with enough turns")] = None,
    diff: Annotated[str | None, opt.Settings(metavar="STYLE|FILE")] = None,
    slots: bool = False,
    json: opt.Json = False,
) -> None:
    """Show the prompt and settings a model would receive.

    The command plays a sample match to build the prompt. No model is called.

    Args:
        game: Name of the game, e.g. bargaining.
        model: Show the prompt for this model: a model string, settings such as '{history:
            summary}', or ROSTER:LABEL, e.g. chip-trading:gpt-4o-refined.
        turn: Show the N-th decision request to the seat.
        opponent: Use this scripted strategy in all other seats.
        seed: Set the random seed of the match.
        diff: Show the differences from the prompt in another prompt style or template file, or from
            a text file. Line breaks within sentences are ignored.
        slots: List the blocks and slots of the game's templates.
    """
    if slots:
        _show_slots(game, json)
        return
    rules = opt.configured_game(game, set_ or [])
    seats = list(rules.seats)
    own_seat = seat or seats[0]
    if own_seat not in seats:
        raise ct.rules.unknown("seat", own_seat, seats)
    spec = _model(model or ct.players.MOCK_MODEL, style, rules, own_seat)
    others = {other: _strategy(opponent, rules, other) for other in seats if other != own_seat}
    for number in range(MAX_SEEDS) if seed is None else [seed]:
        preview = ct.players.preview(spec, rules, own_seat, others, str(number), turn)
        if preview is not None:
            if diff is None:
                _show(preview, spec, rules, own_seat, turn, json)
                return
            reference = _file_text(diff)
            if reference is None:
                other = _styled(spec, diff, rules, own_seat)
                shown = ct.players.preview(other, rules, own_seat, others, str(number), turn)
                reference = "" if shown is None else _text(shown)
            _show_differences(reference, _text(preview), diff, str(spec.style), json)
            return
    matches = f"with seed {seed}" if seed is not None else f"in any of {MAX_SEEDS} sample matches"
    requests = counted(turn, "decision request")
    raise ct.studies.StudyError(f"{own_seat} has fewer than {requests} {matches}; decrease --turn")


def _model(text: str, style: str | None, game: ct.Game, seat: str) -> ct.players.ModelSeat:
    try:
        entries = opt.roster_players(text)
    except ValueError as error:
        raise ct.studies.StudyError(f"--model: {error}") from None
    data = next(iter(entries.values())) if entries else opt.player_entry(text)
    if isinstance(data, dict) and "strategy" not in data:
        data = {"model": ct.players.MOCK_MODEL} | data | ({"style": style} if style else {})
        data = ct.styles.template_files.with_texts(data, Path())
    spec = _player_in(data, game, seat, "--model")
    if not isinstance(spec, ct.players.ModelSeat):
        roster = f"write {text}:LABEL" if text in ct.players.roster_names() else ""
        advice = roster or ct.models.model_strings.hint(text) or "write {model: provider/NAME}"
        raise ct.studies.StudyError(f"--model: {text} is not a language model; {advice}")
    return spec


def _styled(
    spec: ct.players.ModelSeat, style: str, game: ct.Game, seat: str
) -> ct.players.ModelSeat:
    """Return a model's settings with another prompt style or template file."""
    written = spec.written() | {"style": style, "templates": {}}
    other = _player_in(ct.styles.template_files.with_texts(written, Path()), game, seat, "--diff")
    assert isinstance(other, ct.players.ModelSeat)
    return other


def _strategy(text: str | None, game: ct.Game, seat: str) -> ct.rules.Decide:
    """Return an opponent's strategy: the given one, ``random``, or the role's first strategy."""
    if text is None:
        role = game.seats[seat]
        strategies = ct.rules.strategies(game.name).values()
        names = [strategy.name for strategy in strategies if role in strategy.roles]
        text = "random" if "random" in names else names[0]
    spec = _player_in(opt.player_entry(text), game, seat, "--opponent")
    if not isinstance(spec, ct.players.StrategySeat):
        known = ", ".join(ct.rules.strategies(game.name))
        raise ct.studies.StudyError(
            f"--opponent: {text} is not a strategy for the seat {seat} of {game.name}; known "
            f"strategies: {known}"
        )
    return spec.decide()


def _player_in(data: Any, game: ct.Game, seat: str, option: str) -> ct.players.SeatSpec | None:
    """Return the player for a seat; an error about an invalid player names the option."""
    try:
        return ct.players.RosterEntry.model_validate(data).seat(game, seat)
    except ValueError as error:
        problem = ct.rules.errors.problem_of(error) or error
        raise ct.studies.StudyError(f"{option}: {problem}") from None


def _show(
    preview: ct.players.Preview,
    spec: ct.players.ModelSeat,
    game: ct.Game,
    seat: str,
    turn: int,
    json: bool,
) -> None:
    if json:
        calls = [call.model_dump(mode="json", exclude_none=True) for call in preview.calls]
        request = {"game": game.name, "seat": seat, "actor": preview.actor, "turn": turn}
        style = {"style": spec.style, "words": spec.words}
        print_json(request | style | _settings(preview, spec, game) | {"calls": calls})
        return
    for number, call in enumerate(preview.calls, start=1):
        if len(preview.calls) > 1:
            out.console.rule(f"call {number} of {len(preview.calls)}")
        for message in call.messages:
            out.print(f"--- {message.role}", style="bold")
            say(message.content)
    settings = _settings(preview, spec, game)
    routes = ", else ".join(settings.pop("routes"))
    for line in (
        f"model {settings.pop('model')}, output format {routes}",
        f"settings sent: {ct.yaml_files.as_yaml(settings.pop('sent'))}",
        ", ".join(f"{key} {ct.yaml_files.as_yaml(value)}" for key, value in settings.items()),
        f"prompt style {spec.style}, digest {spec.words}",
    ):
        say(f"--- {line}", style="dim")


def _show_slots(game: str, json: bool) -> None:
    blocks = ct.styles.blocks(game).values()
    if json:
        print_json({block.name: block._asdict() for block in blocks})
        return
    for block in blocks:
        out.print(f"[bold]{block.name}[/]")
        say(block.meaning)
        if block.own:
            print_table(None, ["slot", "type", "meaning"], _slot_rows(block.own))
        out.print()
    say("Slots of all blocks:")
    print_table(None, ["slot", "type", "meaning"], _slot_rows(ct.styles.SHARED))


def _slot_rows(slots: Mapping[str, tuple[str, str]]) -> list[list[object]]:
    return [[name, *described] for name, described in slots.items()]


def _file_text(reference: str) -> str | None:
    """Return the content of a text file; None for a prompt style or a template file."""
    path = Path(reference)
    if path.suffix == ".jinja" or not (path.suffix or path.is_file()):
        return None
    try:
        return read_whole(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ct.studies.StudyError(f"--diff: {path} cannot be read: {reason}") from None


def _text(preview: ct.players.Preview) -> str:
    """Return the text of all messages."""
    messages = [message.content for call in preview.calls for message in call.messages]
    return "\n\n".join(messages)


def _sentences(text: str) -> list[str]:
    """Divide a text into sentences and paragraphs, with single spaces between words."""
    parts = re.split(r"(?<=[.!?])\s+|\n\s*\n", text)
    return [" ".join(part.split()) for part in parts if part.strip()]


def _show_differences(reference: str, prompt: str, name: str, style: str, json: bool) -> None:
    texts = _sentences(reference), _sentences(prompt)
    lines = list(difflib.unified_diff(*texts, name, f"{style} (this prompt)", lineterm="", n=1))
    if json:
        print_json({"reference": name, "style": style, "diff": lines})
        return
    for line in lines or [f"The prompt equals that of {name}."]:
        say(line, style={"-": "red", "+": "green", "@": "cyan"}.get(line[0]))


def _settings(
    preview: ct.players.Preview, spec: ct.players.ModelSeat, game: ct.Game
) -> dict[str, Any]:
    return {
        "model": spec.model,
        "sent": ct.models.settings.wire(spec.settings(), spec.model),
        "routes": list(ct.models.structured_output.ways(preview.calls[-1])),
        "tries": spec.tries or game.tries,
        "reask": spec.reask,
        "refusals": spec.refusals,
        "history": ct.yaml_files.plain_data(spec.history),
        "past_answers": spec.past_answers,
        "deadline": spec.deadline,
    }
