"""The study of ``cheaptalk serve --demo``: the shipped games, and installed games of others."""

import logging
from pathlib import Path
from typing import Any, cast

from cheaptalk.rules import Game, GameBox, game_title, games, strategies
from cheaptalk.rules.errors import describe
from cheaptalk.studies.plans.plan import plan
from cheaptalk.studies.study import Study, parse_study, read_yaml

LOG = logging.getLogger(__name__)
FILE = Path(__file__).parent / "demo.yaml"
SOURCE = "demo"
PERSON, BOT, RANDOM = "you", "bot", "random"


def demo() -> Study:
    """Return the study of the demo: all games, in the browser against scripts or with one another.

    An installed game that the demo does not know is added with its default parameters: people meet
    the game's scripts, or each other if a role has no script. A game that cannot be added is left
    out, and the log says why.
    """
    data = cast(dict[str, Any], read_yaml(FILE))
    known = {one["game"] for one in data["games"]}
    for name, box in sorted(games().items()):
        if name in known:
            continue
        try:
            wider = _with_game(data, box)
            plan(parse_study(wider | {"games": wider["games"][-1:]}, SOURCE))
        except Exception as error:  # noqa: BLE001 - a broken plug-in must not close the demo
            LOG.warning("the demo leaves out %s: %s", name, describe(error))
        else:
            data = wider
    return parse_study(data, SOURCE)


def _with_game(data: dict[str, Any], box: GameBox) -> dict[str, Any]:
    """The demo with one more game."""
    rules = box.rules()
    scripts = _scripts(box.name, rules)
    players = data["players"]
    person = PERSON
    if any(RANDOM not in _able(box.name, role) for role in rules.places.values()):
        person = (
            f"{PERSON}, {game_title(box.name)}"  # nobody can take the place of a person who leaves
        )
        own = {key: one for key, one in players[PERSON].items() if key != "away"}
        players = players | {person: own}
    if scripts:
        bot = players[BOT]
        players = players | {BOT: bot | {"strategies": bot["strategies"] | {box.name: scripts}}}
    grid = {"game": box.name, "pairing": _pairing(person, len(rules.places), bool(scripts))}
    return data | {"players": players, "games": [*data["games"], grid]}


def _able(game: str, role: str) -> list[str]:
    """The scripts of a game that can play a role."""
    return [name for name, one in strategies(game).items() if role in one.roles]


def _scripts(game: str, rules: Game) -> dict[str, str]:
    """A script for each role, by preference one that is not random; empty if a role has none."""
    found: dict[str, str] = {}
    for role in dict.fromkeys(rules.places.values()):
        able = sorted(_able(game, role), key=lambda name: name == RANDOM)
        if not able:
            return {}
        found[role] = able[0]
    return found


def _pairing(person: str, places: int, scripted: bool) -> list[Any]:
    """Who meets whom: a person among scripts in each place, and people among themselves."""
    among_scripts = [{person: 1, BOT: places - 1}] if scripted and places > 1 else []
    return [*among_scripts, {person: places}]
