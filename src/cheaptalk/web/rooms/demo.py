"""Study for ``cheaptalk serve --demo``, with all built-in and plug-in games."""

import logging
from pathlib import Path
from typing import Any, cast

from cheaptalk.rules import Game, GameSpec, game_title, games, strategies
from cheaptalk.rules.errors import describe
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.study import Study, parse_study, read_yaml

LOG = logging.getLogger(__name__)
FILE = Path(__file__).parent / "demo.yaml"
SOURCE = "demo"
PERSON, BOT, RANDOM = "you", "bot", "random"


def demo() -> Study:
    """Return the demo study, in which people play all games against scripts or with each other.

    Plug-in games are added with their default parameters. If a role has no script, people play
    only with each other. Games that cannot be added are skipped and logged.
    """
    data = cast(dict[str, Any], read_yaml(FILE))
    included = {grid["game"] for grid in data["games"]}
    for name, game_spec in sorted(games().items()):
        if name in included:
            continue
        try:
            extended = _with_game(data, game_spec)
            plan(parse_study(extended | {"games": extended["games"][-1:]}, SOURCE))
        except Exception as error:  # noqa: BLE001 - a broken plug-in must not close the demo
            LOG.warning("game %s is not included in the demo: %s", name, describe(error))
        else:
            data = extended
    return parse_study(data, SOURCE)


def _with_game(data: dict[str, Any], game_spec: GameSpec) -> dict[str, Any]:
    rules = game_spec.rules()
    scripts = _scripts(game_spec.name, rules)
    players = data["players"]
    person = PERSON
    if any(RANDOM not in _scripts_for(game_spec.name, role) for role in rules.seats.values()):
        person = f"{PERSON}, {game_title(game_spec.name)}"  # no script can replace this person
        settings = {key: value for key, value in players[PERSON].items() if key != "away"}
        players = players | {person: settings}
    if scripts:
        bot = players[BOT]
        players = players | {
            BOT: bot | {"strategies": bot["strategies"] | {game_spec.name: scripts}}
        }
    seats = len(rules.seats)
    with_scripts = [{person: 1, BOT: seats - 1}] if scripts and seats > 1 else []
    grid = {"game": game_spec.name, "pairing": [*with_scripts, {person: seats}]}
    return data | {"players": players, "games": [*data["games"], grid]}


def _scripts_for(game: str, role: str) -> list[str]:
    return [name for name, script in strategies(game).items() if role in script.roles]


def _scripts(game: str, rules: Game) -> dict[str, str]:
    scripts: dict[str, str] = {}
    for role in dict.fromkeys(rules.seats.values()):
        candidates = sorted(_scripts_for(game, role), key=lambda name: name == RANDOM)
        if not candidates:
            return {}
        scripts[role] = candidates[0]
    return scripts
