"""The command that shows what a model would be sent: prompt."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import TypeAdapter, ValidationError

import cheaptalk as ct
from cheaptalk.cli.shared.options import JsonOption, ParametersOption, parameters, player_entry
from cheaptalk.cli.shared.printing import as_yaml, out, print_json, say
from cheaptalk.models.model_strings import hint
from cheaptalk.models.settings import wire
from cheaptalk.models.structured_output import ways
from cheaptalk.players import ModelSeat, RosterEntry, StrategySeat
from cheaptalk.players.language_model.preview import STAND_IN, Preview, preview
from cheaptalk.players.language_model.treatments import History
from cheaptalk.players.rosters import chosen, roster_names
from cheaptalk.rules import counted
from cheaptalk.rules.errors import first_problem

SEEDS = 100
"""Sample matches that are tried until one is long enough."""


def prompt(
    game: Annotated[str, typer.Argument(help="The game, such as bargaining.")],
    player: Annotated[
        str,
        typer.Option(
            help="Who reads it: a model string, settings such as '{history: summary}', or a "
            "player of a roster, such as chip-trading:gpt-4o-refined.",
            metavar="SPEC",
        ),
    ] = STAND_IN,
    style: Annotated[
        str | None, typer.Option(help="The style of the words.", show_default="the player's")
    ] = None,
    place: Annotated[
        str | None,
        typer.Option("--as", help="Its place, such as bob or player_3.", show_default="the first"),
    ] = None,
    turn: Annotated[int, typer.Option(min=1, help="Which question to it.")] = 1,
    against: Annotated[
        str | None,
        typer.Option(
            help="The strategy in all other places.", metavar="SPEC", show_default="random moves"
        ),
    ] = None,
    set_: ParametersOption = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the match.", show_default="the first that is long enough")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show what a model would be sent in a sample match, with its settings. Nothing is sent."""
    rules = _game(game, set_ or [])
    places = list(rules.places)
    mine = place or places[0]
    if mine not in places:
        raise ct.rules.unknown("place", mine, places)
    spec = _model(player, style, rules, mine)
    others = {one: _strategy(against, rules, one) for one in places if one != mine}
    tried = range(SEEDS) if seed is None else [seed]
    for number in tried:
        found = preview(spec, rules, mine, others, str(number), turn)
        if found is not None:
            _show(found, spec, rules, mine, turn, json)
            return
    where = f"with seed {seed}" if seed is not None else f"in {SEEDS} sample matches"
    raise ct.StudyError(
        f"{mine} is asked fewer than {counted(turn, 'time')} {where}: choose an earlier --turn"
    )


def _game(name: str, written: list[str]) -> ct.Game:
    """A game with parameters as they are written behind ``--set``."""
    ct.game_box(name)
    grid = {"game": name, "fixed": parameters(written)}
    study = {"name": "prompt", "games": [grid], "players": {"x": {"model": STAND_IN}}}
    return ct.studies.parse_study(study, "--set").games[0].configurations()[0]


def _model(written: str, style: str | None, game: ct.Game, place: str) -> ModelSeat:
    data = _entry(written)
    if isinstance(data, dict) and "strategy" not in data:
        data = {"model": STAND_IN} | data | ({"style": style} if style else {})
    spec = _seat(data, game, place, "--player")
    if not isinstance(spec, ModelSeat):
        roster = f"write {written}:LABEL" if written in roster_names() else ""
        cure = roster or hint(written) or "write {model: provider/NAME}"
        raise ct.StudyError(f"--player: only models are sent prompts; {cure}")
    return spec


def _entry(written: str) -> Any:
    name, colon, label = written.partition(":")
    if colon and label and (name in roster_names() or name.endswith((".yaml", ".yml"))):
        try:
            return next(iter(chosen(written).values()))
        except ValueError as error:
            raise ct.StudyError(f"--player: {error}") from None
    return player_entry(written)


def _strategy(written: str | None, game: ct.Game, place: str) -> ct.rules.Decide:
    """The strategy in another's place: random, if the game has it, unless one is named."""
    if written is None:
        role = game.places[place]
        known = [one.name for one in ct.rules.strategies(game.name).values() if role in one.roles]
        written = "random" if "random" in known else known[0]
    spec = _seat(player_entry(written), game, place, "--against")
    if not isinstance(spec, StrategySeat):
        able = ", ".join(ct.rules.strategies(game.name))
        raise ct.StudyError(
            f"--against: {written} is no strategy for {place} of {game.name} (known: {able})"
        )
    return spec.decide()


def _seat(data: Any, game: ct.Game, place: str, option: str) -> ct.players.SeatSpec | None:
    """Who sits down at a place, checked as in a study."""
    try:
        return RosterEntry.model_validate(data).seat(game, place)
    except ValidationError as error:
        raise ct.StudyError(f"{option}: {first_problem(error)}") from None
    except ValueError as error:
        raise ct.StudyError(f"{option}: {error}") from None


def _show(
    found: Preview, spec: ModelSeat, game: ct.Game, place: str, turn: int, json: bool
) -> None:
    if json:
        calls = [call.model_dump(mode="json", exclude_none=True) for call in found.calls]
        about = {"game": game.name, "place": place, "seat": found.seat, "turn": turn}
        words = {"style": spec.style, "words": spec.words}
        print_json(about | words | _settings(found, spec, game) | {"calls": calls})
        return
    for number, call in enumerate(found.calls, start=1):
        if len(found.calls) > 1:
            out.rule(f"call {number} of {len(found.calls)}")
        for message in call.messages:
            out.print(f"--- {message.role}", style="bold")
            say(message.content)
    settings = _settings(found, spec, game)
    routes = ", else ".join(settings.pop("routes"))
    for line in (
        f"model {settings.pop('model')}, answers by {routes}",
        f"settings sent: {as_yaml(settings.pop('sent'))}",
        ", ".join(f"{key} {as_yaml(value)}" for key, value in settings.items()),
        f"style {spec.style}, words {spec.words}",
    ):
        say(f"--- {line}", style="dim")


def _settings(found: Preview, spec: ModelSeat, game: ct.Game) -> dict[str, Any]:
    """How the model is asked, beside the words: its settings as they go over the wire, the ways to
    ask for the answer, and what it remembers."""
    return {
        "model": spec.model,
        "sent": wire(spec.settings(), spec.model),
        "routes": list(ways(found.calls[-1])),
        "tries": spec.tries or game.tries,
        "reask": spec.reask,
        "refusals": spec.refusals,
        "history": TypeAdapter(History).dump_python(spec.history),
        "past_answers": spec.past_answers,
        "deadline": spec.deadline,
    }
