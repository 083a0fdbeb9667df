"""Selection of empirical games, their configurations and their metrics in a frame of matches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, places_in, varying
from cheaptalk.rules import CheaptalkError, get_game, suggest
from cheaptalk.rules.arguments import describe_type
from cheaptalk.rules.game_spec import EmpiricalView, MetricTable, ScaledMetric
from cheaptalk.text import capital, plain, readable

NAME = "game name"
"""The column with the name of each match's configuration."""
PLUS = "+"
"""The separator between the names of mixed configurations."""
MANY = 12
"""The maximum number of configurations that are separate games by default."""


class Selected(NamedTuple):
    """An empirical game to analyse: one configuration, or several with equal weights.

    ``frame`` contains the matches, with the column :data:`NAME`; ``all_configurations`` is
    whether these are all the study's configurations of the game spec.
    """

    name: str
    game_spec: str
    configurations: dict[str, dict[str, Any]]
    frame: pl.DataFrame
    all_configurations: bool = True

    @property
    def view(self) -> EmpiricalView | None:
        """Return how the game spec displays empirical games; None if it doesn't define this."""
        return get_game(self.game_spec).view

    @property
    def seats_note(self) -> str:
        """Return a note that payoffs are averaged over both seats; "" if seats don't differ."""
        roles = get_game(self.game_spec).rules.roles
        if len(roles) == 1:
            return ""
        return (
            f"The seats of {plain(self.game_spec)} differ ({' and '.join(roles)}); payoffs are "
            "averaged over both. To analyse each seat separately, use two populations."
        )

    @property
    def unit(self) -> str:
        """Return the unit of payoffs, or several units if roles differ."""
        units = get_game(self.game_spec).rules.payoff_units().values()
        return " or ".join(dict.fromkeys(filter(None, units)))

    @property
    def settings(self) -> str:
        """Describe the game parameters of each configuration."""
        return "; ".join(
            f"{name}: {_settings_text(values)}"
            if len(self.configurations) > 1
            else _settings_text(values)
            for name, values in self.configurations.items()
        )

    @property
    def query(self) -> dict[str, str]:
        """Return the query with which the viewer lists only matches of these configurations."""
        digests = self.frame["configuration"].unique().sort()
        return {} if self.all_configurations else {"configuration": ",".join(digests)}


describe_type(Selected, "a configuration that ct.equilibrium.selected returned")


def _settings_text(values: Mapping[str, Any]) -> str:
    nonempty = {name: value for name, value in values.items() if value not in (None, False, {}, [])}
    return ", ".join(f"{plain(name)} {readable(value)}" for name, value in nonempty.items())


def shown_metrics(games: Iterable[str]) -> set[str]:
    """Return the names of the metrics that the games' analysis pages show."""
    return {
        name for game_spec in map(get_game, games) for name in (game_spec.view or game_spec).metrics
    }


def metric_tables(game: Selected) -> tuple[MetricTable, ...]:
    """Return the metric tables that a game's spec defines, or one table of all match metrics."""
    game_spec = get_game(game.game_spec)
    if game_spec.view is not None:
        games = [game_spec.rules.model_validate(values) for values in game.configurations.values()]
        return tuple(game_spec.view.tables(games))
    metrics = [metric for metric in game_spec.metrics.values() if metric.role is None]
    columns = tuple(ScaledMetric(capital(metric.name), metric.name) for metric in metrics)
    about = "Means of the game's metrics, which the game's page in the reference defines."
    return (MetricTable("Metrics", about, columns),) if columns else ()


def selected(frames: Mapping[str, pl.DataFrame], names: Sequence[str]) -> list[Selected]:
    """Select empirical games by name; by default, all configurations and their mixtures.

    Args:
        frames: a study's frames, as :func:`.read_matches` returns them.
        names: configurations, mixtures (``BGS0``, or configurations joined by a plus), or games,
            for a mixture of all their configurations.

    Raises:
        CheaptalkError: a name is unknown, or no game has two seats.
    """
    named = {
        game_spec: with_names(game_spec, frame)
        for game_spec, frame in frames.items()
        if len(places_in(frame)) == 2
    }
    if not named:
        raise CheaptalkError("an empirical game has two seats, but no game of this study has two")
    games: list[Selected] = []
    for game_spec, (frame, configurations) in named.items():
        view = get_game(game_spec).view
        mixed = view.mixtures.items() if view else ()
        mixtures = {
            name: configuration_names
            for name, configuration_names in mixed
            if set(configuration_names) <= configurations.keys()
        } or ({game_spec: tuple(configurations)} if len(configurations) > 1 else {})
        requested = names or [*(configurations if len(configurations) <= MANY else ()), *mixtures]
        single = {name: (name,) for name in configurations}
        groups = single | {game_spec: tuple(configurations)} | mixtures
        for name in requested:
            members = groups.get(name) or tuple(part.strip() for part in name.split(PLUS))
            if set(members) <= configurations.keys():
                part = frame.filter(pl.col(NAME).is_in(members))
                chosen = {member: configurations[member] for member in members}
                complete = len(chosen) == len(configurations)
                games.append(Selected(name, game_spec, chosen, part, complete))
    absent = [name for name in names if name not in [game.name for game in games]]
    if absent:
        available = [name for _, configurations in named.values() for name in configurations]
        raise CheaptalkError(f"no game {suggest(absent[0], available)} in this study")
    return games


def with_names(
    game_spec: str, frame: pl.DataFrame
) -> tuple[pl.DataFrame, dict[str, dict[str, Any]]]:
    """Add a column with each match's configuration name; also return the parameters by name."""
    configurations = parameters_in(frame)
    differing, names, named = varying(configurations), {}, {}
    for digest, values in configurations.items():
        parameters = {name: value for name, value in values.items() if value is not None}
        text = ", ".join(
            f"{plain(name)} {readable(value)}"
            for name, value in parameters.items()
            if name in differing
        )
        names[digest] = name = _published(game_spec, parameters) or text or game_spec
        named[name] = parameters
    column = pl.col("configuration").replace_strict(names).alias(NAME)
    return frame.with_columns(column), dict(sorted(named.items()))


def _published(game_spec: str, parameters: dict[str, Any]) -> str | None:
    rules, view = get_game(game_spec).rules, get_game(game_spec).view
    if view is None:
        return None
    game = rules.model_validate(parameters)
    published = {name: rules.model_validate(fixed) for name, fixed in view.configurations.items()}
    return next((name for name, rules_of_name in published.items() if rules_of_name == game), None)
