"""The empirical games in a frame of matches: what they are called, mixed of, and shown with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, places_in, varying
from cheaptalk.rules import CheaptalkError, game_box, suggest
from cheaptalk.rules.empirical_view import EmpiricalView, MeasureTable, ScaledMeasure
from cheaptalk.text import capital, plain, readable

NAME = "game name"
"""The column with the name of a match's configuration."""
PLUS = "+"
"""What stands between the names of configurations that are mixed."""
MANY = 12
"""Configurations up to which each is a game by itself, unless others are asked for."""


class Selected(NamedTuple):
    """One game to analyse, of one configuration or several that weigh alike.

    Attributes:
        name: what it is called.
        box: the name of its rules.
        configurations: the parameters of each configuration in it, by name.
        frame: its matches, with the column :data:`NAME`.
        whole: whether these are all configurations that the study has of the game.
    """

    name: str
    box: str
    configurations: dict[str, dict[str, Any]]
    frame: pl.DataFrame
    whole: bool = True

    @property
    def view(self) -> EmpiricalView | None:
        """What the game's box says is to be shown of it."""
        return game_box(self.box).view

    @property
    def apart(self) -> str:
        """What is lost where everybody is taken to sit in both seats; empty where nothing is."""
        roles = game_box(self.box).rules.roles
        if len(roles) == 1:
            return ""
        return (
            f"The seats of {plain(self.box)} differ ({' and '.join(roles)}), and everybody is "
            "taken here to sit in both; --by-seat asks who would be sent to which."
        )

    @property
    def unit(self) -> str:
        """What payoffs are counted in, role by role where roles differ."""
        units = game_box(self.box).rules.payoff_units().values()
        return " or ".join(dict.fromkeys(filter(None, units)))

    @property
    def settings(self) -> str:
        """How its configurations are set up, in words."""
        return "; ".join(
            f"{name}: {_settings_text(values)}" if len(self.configurations) > 1
            else _settings_text(values)
            for name, values in self.configurations.items()
        )  # fmt: skip

    @property
    def query(self) -> dict[str, str]:
        """What picks its configurations out in the viewer."""
        digests = self.frame["configuration"].unique().sort()
        return {} if self.whole else {"configuration": ",".join(digests)}


def _settings_text(values: Mapping[str, Any]) -> str:
    """The values of parameters; what is empty, off or unbounded is left out."""
    told = {name: value for name, value in values.items() if value not in (None, False, {}, [])}
    return ", ".join(f"{plain(name)} {readable(value)}" for name, value in told.items())


def measures_shown(games: Iterable[str]) -> set[str]:
    """The measures of some games that pages of empirical games show."""
    boxes = map(game_box, games)
    return {name for box in boxes for name in (box.view.measures if box.view else box.measures)}


def metric_tables(one: Selected) -> tuple[MeasureTable, ...]:
    """What is measured at a game's equilibrium: what its box says, else all of the whole match."""
    box = game_box(one.box)
    if box.view is not None:
        games = [box.rules.model_validate(values) for values in one.configurations.values()]
        return tuple(box.view.tables(games))
    measures = [measure for measure in box.measures.values() if measure.role is None]
    columns = tuple(ScaledMeasure(capital(measure.name), measure.name) for measure in measures)
    about = "Means of the game's measures; each game's page in the reference says what they are."
    return (MeasureTable("Measures", about, columns),) if columns else ()


def selected(frames: Mapping[str, pl.DataFrame], wanted: Sequence[str]) -> list[Selected]:
    """The games asked for; without any, all configurations and their mixtures.

    Args:
        frames: of a study, as :func:`.match_frames` makes them.
        wanted: names of configurations, of mixtures (``BGS0``, or configurations with a plus
            between them), or of rules, for all their configurations mixed.

    Raises:
        CheaptalkError: a name is none of these, or no game has two seats.
    """
    named = {
        box: with_names(box, frame) for box, frame in frames.items() if len(places_in(frame)) == 2
    }
    if not named:
        raise CheaptalkError("an empirical game has two seats, and no game of this study has two")
    found: list[Selected] = []
    for box, (frame, configurations) in named.items():
        view = game_box(box).view
        mixed = view.mixtures.items() if view else ()
        mixtures = {name: of for name, of in mixed if set(of) <= configurations.keys()} or (
            {box: tuple(configurations)} if len(configurations) > 1 else {}
        )
        asked = wanted or [*(configurations if len(configurations) <= MANY else ()), *mixtures]
        groups = (
            {name: (name,) for name in configurations} | {box: tuple(configurations)} | mixtures
        )
        for name in asked:
            members = groups.get(name) or tuple(part.strip() for part in name.split(PLUS))
            if set(members) <= configurations.keys():
                part = frame.filter(pl.col(NAME).is_in(members))
                chosen = {one: configurations[one] for one in members}
                found.append(Selected(name, box, chosen, part, len(chosen) == len(configurations)))
    absent = [name for name in wanted if name not in [one.name for one in found]]
    if absent:
        known = [name for _, configurations in named.values() for name in configurations]
        raise CheaptalkError(f"no game {suggest(absent[0], known)} in this study")
    return found


def with_names(box: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """The frame with the name of each match's configuration, and their parameters by name."""
    configurations = parameters_in(frame)
    differing, names, named = varying(configurations), {}, {}
    for digest, values in configurations.items():
        parameters = {name: value for name, value in values.items() if value is not None}
        told = {name: value for name, value in parameters.items() if name in differing}
        names[digest] = name = _published(box, parameters) or _differing(told) or box
        named[name] = parameters
    column = pl.col("configuration").replace_strict(names).alias(NAME)
    return frame.with_columns(column), dict(sorted(named.items()))


def _differing(parameters: Mapping[str, Any]) -> str:
    """Parameters as people write them.

    >>> _differing({"discounts": [0.9, 0.8], "messages": True})
    'discounts 0.9, 0.8, messages yes'
    """
    return ", ".join(f"{plain(name)} {readable(value)}" for name, value in parameters.items())


def _published(box: str, parameters: dict[str, Any]) -> str | None:
    """What publications call a configuration, if they call it anything."""
    rules, view = game_box(box).rules, game_box(box).view
    if view is None:
        return None
    game = rules.model_validate(parameters)
    named = view.configurations.items()
    return next((name for name, one in named if rules.model_validate(one) == game), None)
