"""The command that shows what a model would be sent: prompt."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import JsonOption, ParametersOption, parameters, player_entry
from cheaptalk.cli.shared.printing import out, print_json, say
from cheaptalk.cli.shared.sentences import counted

SEEDS = 100
"""Sample matches that are tried until one is long enough."""


def prompt(
    game: Annotated[
        str, typer.Argument(help="The game, such as bargaining.", autocompletion=completion.games)
    ],
    player: Annotated[
        str | None,
        typer.Option(
            help="Who reads it: a model string, settings such as '{history: summary}', or a "
            "player of a roster, such as chip-trading:gpt-4o-refined.",
            metavar="SPEC",
            show_default="script/legal",
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(
            help="The style of the words.",
            autocompletion=completion.styles,
            show_default="the player's",
        ),
    ] = None,
    place: Annotated[
        str | None,
        typer.Option(
            "--as",
            help="Its place, such as bob or player_3.",
            autocompletion=completion.places,
            show_default="the first",
        ),
    ] = None,
    turn: Annotated[int, typer.Option(min=1, help="Which question to it.")] = 1,
    against: Annotated[
        str | None,
        typer.Option(
            help="The strategy in all other places.",
            autocompletion=completion.players,
            metavar="SPEC",
            show_default="random moves",
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
    spec = _model(player or ct.players.STAND_IN, style, rules, mine)
    others = {one: _strategy(against, rules, one) for one in places if one != mine}
    tried = range(SEEDS) if seed is None else [seed]
    for number in tried:
        found = ct.players.preview(spec, rules, mine, others, str(number), turn)
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
    study = {"name": "prompt", "games": [grid], "players": {"x": {"model": ct.players.STAND_IN}}}
    return ct.studies.parse_study(study, "--set").games[0].configurations()[0]


def _model(written: str, style: str | None, game: ct.Game, place: str) -> ct.players.ModelSeat:
    data = _entry(written)
    if isinstance(data, dict) and "strategy" not in data:
        data = {"model": ct.players.STAND_IN} | data | ({"style": style} if style else {})
    spec = _seat(data, game, place, "--player")
    if not isinstance(spec, ct.players.ModelSeat):
        roster = f"write {written}:LABEL" if written in ct.players.roster_names() else ""
        cure = roster or ct.models.model_strings.hint(written) or "write {model: provider/NAME}"
        raise ct.StudyError(f"--player: only models are sent prompts; {cure}")
    return spec


def _entry(written: str) -> Any:
    name, colon, label = written.partition(":")
    if colon and label and (name in ct.players.roster_names() or name.endswith((".yaml", ".yml"))):
        try:
            return next(iter(ct.players.rosters.chosen(written).values()))
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
    if not isinstance(spec, ct.players.StrategySeat):
        able = ", ".join(ct.rules.strategies(game.name))
        raise ct.StudyError(
            f"--against: {written} is no strategy for {place} of {game.name} (known: {able})"
        )
    return spec.decide()


def _seat(data: Any, game: ct.Game, place: str, option: str) -> ct.players.SeatSpec | None:
    """Who sits down at a place, checked as in a study."""
    try:
        return ct.players.RosterEntry.model_validate(data).seat(game, place)
    except ValueError as error:
        problem = ct.rules.errors.problem_of(error) or error
        raise ct.StudyError(f"{option}: {problem}") from None


def _show(
    found: ct.players.Preview,
    spec: ct.players.ModelSeat,
    game: ct.Game,
    place: str,
    turn: int,
    json: bool,
) -> None:
    if json:
        calls = [call.model_dump(mode="json", exclude_none=True) for call in found.calls]
        about = {"game": game.name, "place": place, "seat": found.seat, "turn": turn}
        words = {"style": spec.style, "words": spec.words}
        print_json(about | words | _settings(found, spec, game) | {"calls": calls})
        return
    for number, call in enumerate(found.calls, start=1):
        if len(found.calls) > 1:
            out.console.rule(f"call {number} of {len(found.calls)}")
        for message in call.messages:
            out.print(f"--- {message.role}", style="bold")
            say(message.content)
    settings = _settings(found, spec, game)
    routes = ", else ".join(settings.pop("routes"))
    for line in (
        f"model {settings.pop('model')}, answers by {routes}",
        f"settings sent: {ct.yaml_files.as_yaml(settings.pop('sent'))}",
        ", ".join(f"{key} {ct.yaml_files.as_yaml(value)}" for key, value in settings.items()),
        f"style {spec.style}, words {spec.words}",
    ):
        say(f"--- {line}", style="dim")


def _settings(
    found: ct.players.Preview, spec: ct.players.ModelSeat, game: ct.Game
) -> dict[str, Any]:
    """How the model is asked, beside the words: its settings as they go over the wire, the ways to
    ask for the answer, and what it remembers."""
    return {
        "model": spec.model,
        "sent": ct.models.settings.wire(spec.settings(), spec.model),
        "routes": list(ct.models.structured_output.ways(found.calls[-1])),
        "tries": spec.tries or game.tries,
        "reask": spec.reask,
        "refusals": spec.refusals,
        "history": ct.yaml_files.plain_data(spec.history),
        "past_answers": spec.past_answers,
        "deadline": spec.deadline,
    }
