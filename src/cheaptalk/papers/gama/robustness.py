"""Robustness and generalisation: scores by players' settings, and scores by games' settings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in, varying
from cheaptalk.models.prices import without_url
from cheaptalk.papers.gama import paper_tables, scores
from cheaptalk.papers.gama.leaderboard import UNIT
from cheaptalk.papers.gama.rounds import mean_line
from cheaptalk.papers.printed import Columns
from cheaptalk.reports.charts.chart import DASHES, SERIES, Axis, Chart, Lead, Line
from cheaptalk.reports.charts.kinds import Row
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import side_by_side
from cheaptalk.reports.recipes.parts import Charts, NoData, Shown
from cheaptalk.reports.recipes.tables import ERROR, ReportTable
from cheaptalk.rules import get_game
from cheaptalk.statistics import pairwise_tests
from cheaptalk.text import capital, fixed, plain, readable

REASONING = "reasoning strategy"
VERSION = "prompt version"
TEMPERATURE = "temperature"
ALIASES = {"chain_of_thought": REASONING, "persona": REASONING, "style": VERSION}
"""Names of settings in tables; settings with the same name form one treatment."""
IDENTITY = ("model", "strategy", "person", "recorded", "experiment")
"""Settings that distinguish players, not treatments of a player."""
PAPER = {TEMPERATURE: "1", VERSION: "v1"}
"""The settings of imported players without a treatment."""
UNTREATED = "default"
ROSTER = " (see the roster gama-treatments)"


class SettingFamily(NamedTuple):
    """Players of the same model or strategy, ``name``, who differ in exactly one setting.

    ``values`` are the readable values of the setting by label, in order.
    """

    setting: str
    name: str
    values: dict[str, str]

    @property
    def title(self) -> str:
        if self.game is None:
            return capital(self.setting)
        game = scores.GAMES.get(self.game, capital(self.game))
        return f"{game}, {plain(self.setting.rpartition('.')[2])}"

    @property
    def game(self) -> str | None:
        """The game that the setting affects; None if it affects several games."""
        first, _, rest = self.setting.partition(".")
        return rest.partition(".")[0] if first == "strategies" else None

    @property
    def keys(self) -> dict[str, str]:
        """The readable values by the names of their columns."""
        return {f"{self.setting} {value}": value for value in self.values.values()}

    @property
    def table_name(self) -> str:
        return anchor(f"{self.setting}-{self.name}").lower()

    def matches(self, runs: pl.DataFrame) -> pl.DataFrame:
        """Return the players' matches, only of :attr:`game` if the setting affects one game."""
        matches = runs.filter(pl.col("player").is_in(list(self.values)))
        return matches.filter(game=self.game) if self.game else matches


def temperatures(evidence: Evidence) -> Iterator[Shown]:
    """Report scores of players who differ only in temperature.

    Mean and spread (a sample standard deviation) are over temperatures, with equal weights.
    Confidence intervals are those of the leaderboard.
    """
    yield from _shown(evidence, [TEMPERATURE], "temperature", f"temperature: 0{ROSTER}")


def versions(evidence: Evidence) -> Iterator[Shown]:
    """Report scores of players who differ only in prompt style, such as v1 to v5.

    Mean and spread (a sample standard deviation) are over prompt styles, with equal weights.
    Confidence intervals are those of the leaderboard.
    """
    yield from _shown(evidence, [VERSION], "prompt style", f"style: v2{ROSTER}")


def strategies(evidence: Evidence) -> Iterator[Shown]:
    """Report scores of players who differ only in chain of thought or persona.

    Mean and spread (a sample standard deviation) are over strategies, with equal weights.
    Confidence intervals are those of the leaderboard. The pirate row of the paper's Table 7 isn't
    an experiment, because its recorded games are copies of default runs.
    """
    difference = "chain of thought or persona"
    yield from _shown(evidence, [REASONING], difference, f"chain_of_thought: step_by_step{ROSTER}")


def others(evidence: Evidence) -> Iterator[Shown]:
    """Report scores of players who differ in exactly one other setting of a model or script.

    Mean and spread (a sample standard deviation) are over values, with equal weights. Confidence
    intervals are those of the leaderboard.
    """
    settings = {family.setting for family in families(scores.entries(evidence))}
    further = sorted(settings - {TEMPERATURE, VERSION, REASONING})
    yield from _shown(evidence, further, "any other setting", "history: {last: 5}")


def _shown(
    evidence: Evidence, settings: Sequence[str], difference: str, example: str
) -> Iterator[Shown]:
    """Yield tables per family of players that differ in a setting, and a figure per setting."""
    runs = scores.default_runs(scores.scored(evidence))
    present = set(runs["player"])
    results = []
    for family in families(scores.entries(evidence)):
        values = {label: value for label, value in family.values.items() if label in present}
        if family.setting in settings and len(values) > 1:
            played = family._replace(values=values)
            means = scores.mean_scores(matches := played.matches(runs))
            if matches["game"].n_unique() == 1:
                means = means.filter(pl.col("game") != scores.OVERALL)
            results.append((played, means))
    if not results:
        raise NoData(
            f"no two players with finished matches differ only in {difference}; add one, for "
            f"example with {example}"
        )
    for family, means in results:
        yield from _tables(evidence, family, means)
        yield from _tests(evidence, family, runs)
    for setting in dict.fromkeys(family.setting for family, _ in results):
        group = [result for result in results if result[0].setting == setting]
        yield Charts(
            anchor(setting),
            f"Scores by {group[0][0].title}",
            [
                _panel(game, group)
                for game in scores.TITLES
                if any(game in set(means["game"]) for _, means in group)
            ],
            "Whiskers are 95 % confidence intervals."
            + " One line per group of players." * (len(group) > 1),
        )


def _tables(
    evidence: Evidence, family: SettingFamily, means: pl.DataFrame
) -> Iterator[ReportTable]:
    """Yield scores by setting value, and one of Tables 5 to 7 if the paper has it.

    Mean and spread are over values; players without the setting count as the paper's default.
    """
    keys = family.keys
    named = dict(zip(family.values, keys, strict=True))
    renamed = means.with_columns(
        pl.col("player").replace_strict(named), title=pl.col("game").replace_strict(scores.TITLES)
    )
    frame = merged = side_by_side(renamed, "score", "player")
    default = None if evidence.players else PAPER.get(family.setting)
    standard, untreated = (f"{family.setting} {value}" for value in (default, UNTREATED))
    if standard in keys and untreated in keys:
        merged = frame.with_columns(pl.coalesce(standard, untreated).alias(standard))
        del keys[untreated]
    merged = with_statistics(merged, list(keys), "mean", "spread")
    yield scores.table(
        evidence,
        "family",
        frame.hstack(merged.select("mean", "spread")),
        name=family.table_name,
        columns={"values": family.keys},
        facts={"family": family.title, "player": family.name},
    )
    if family.setting in paper_tables.FIRST_TABLES:
        yield _treatments(evidence, family.setting, family.name, merged, keys)


def with_statistics(
    frame: pl.DataFrame, columns: Sequence[str], mean: str, spread: str
) -> pl.DataFrame:
    """Add the mean and sample standard deviation over columns; null if a value is missing."""
    complete = pl.all_horizontal(pl.col(columns).is_not_null())
    cells = pl.concat_list(columns).list
    return frame.with_columns(
        pl.when(complete).then(cells.mean()).alias(mean),
        pl.when(complete).then(cells.std()).alias(spread),
    )


def _treatments(
    evidence: Evidence, setting: str, name: str, frame: pl.DataFrame, values: Mapping[str, str]
) -> ReportTable:
    """Return one of Tables 5 to 7: a column per value of a setting, then mean and spread.

    As in the paper, prompt versions have no overall score, and reasoning strategies have no mean.
    All players have the model ``name``; ``values`` are headings by column.
    """
    rows = frame if setting != VERSION else frame.filter(pl.col("game") != scores.OVERALL)
    rows = rows.drop("title").rename({"mean": "average", "spread": f"average{ERROR}"})
    rows, model = paper_tables.in_paper_order(rows), paper_tables.paper_model(name)
    titles = {key: _treatment_title(setting, value) for key, value in values.items()}
    columns: dict[str, Columns] = {"values": titles}
    spread = "In parentheses, the sample standard deviation over the columns. "
    if setting == REASONING:
        columns["average"], spread = (), ""
    facts = {"setting": setting, "spread": spread}
    return paper_tables.numbered_table(
        evidence, setting, model, name, rows, columns=columns, facts=facts
    )


def _treatment_title(setting: str, value: str) -> str:
    """Return the paper's name for a setting's value.

    >>> [_treatment_title("temperature", "0"), _treatment_title("prompt version", "v1")]
    ['0.0', 'V1 (Default)']
    >>> _treatment_title("reasoning strategy", "CoT step by step")
    'CoT'
    """
    if setting == TEMPERATURE and re.fullmatch(r"[\d.]+", value):
        return fixed(float(value), 1)
    if setting == VERSION and re.fullmatch(r"v\d+", value):
        return value.upper() + " (Default)" * (value == "v1")
    return "CoT" if value == "CoT step by step" else value[:1].upper() + value[1:]


def _tests(evidence: Evidence, family: SettingFamily, runs: pl.DataFrame) -> Iterator[ReportTable]:
    single = scores.by_run(family.matches(runs)).filter(
        pl.col("game") == (family.game or scores.OVERALL)
    )
    counts = single["player"].value_counts()["count"]
    if len(counts) < 2 or counts.min() == 1:
        return
    named = single.with_columns(pl.col("player").replace_strict(family.values))
    draws, seed = evidence.draws, evidence.seed
    tests = pairwise_tests(
        named, "score", "player", paired=False, cluster=["run"], draws=draws, seed=seed
    )
    facts, name = {"family": family.title, "player": family.name}, f"{family.table_name}-tests"
    yield scores.table(
        evidence, "family-tests", tests.frame, name=name, facts=facts, notes=tests.notes
    )


def _panel(game: str, results: Sequence[tuple[SettingFamily, pl.DataFrame]]) -> Chart:
    layers = []
    for index, (family, means) in enumerate(results):
        rows = {row["player"]: row for row in means.filter(game=game).iter_rows(named=True)}
        values = family.values.items()
        shown = [rows[label] | {"value": value} for label, value in values if label in rows]
        layers.append(_marked_line(family.name, shown, index, "value"))
    names = dict.fromkeys(value for family, _ in results for value in family.values.values())
    return Chart(scores.TITLES[game], UNIT, layers, Axis(names=tuple(names)))


def _marked_line(name: str, rows: Sequence[Row], index: int, x: str) -> Line:
    """Return a line through mean scores, with confidence intervals."""
    dash = DASHES[index // SERIES % len(DASHES)]
    return mean_line(name, rows, index, x, "score", 1, dash=dash, prefix="", whiskers=True)


def families(players: Mapping[str, Mapping[str, Any]]) -> list[SettingFamily]:
    """Return all groups of players who differ in exactly one setting; of equal players, the first.

    >>> result = families({"a": {"model": "vllm/x", "temperature": 0.2},
    ...                    "b": {"model": "vllm/x", "temperature": 0}, "c": {"model": "vllm/y"}})
    >>> [(family.setting, family.name, family.values) for family in result]
    [('temperature', 'x', {'b': '0', 'a': '0.2'})]
    """
    settings = {label: dict(_settings(entry)) for label, entry in players.items()}
    names = dict.fromkeys(name for values in settings.values() for name in values)
    result = []
    for name in names:
        if name.rpartition(".")[2] in IDENTITY:
            continue
        groups: dict[str, list[str]] = {}
        for label, values in settings.items():
            other_values = sorted((key, value) for key, value in values.items() if key != name)
            groups.setdefault(str(other_values), []).append(label)
        for labels in groups.values():
            first = {settings[label].get(name, UNTREATED): label for label in reversed(labels)}
            values = {label: value for value, label in first.items()}
            if len(values) > 1:
                order = sorted(
                    values, key=lambda label: (values[label] != UNTREATED, _sortable(values[label]))
                )
                ordered = {label: values[label] for label in order}
                result.append(SettingFamily(name, _common(settings[labels[0]]), ordered))
    return result


def _settings(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield a player's settings as names and readable values, with nested names joined by dots."""
    together: dict[str, list[str]] = {}
    for name, value in _leaves(entry):
        text = f"CoT {plain(value)}" if name == "chain_of_thought" else readable(value)
        together.setdefault(ALIASES.get(name.partition(".")[0], name), []).append(text)
    yield from ((name, " and ".join(texts)) for name, texts in together.items())


def _leaves(entry: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}{key}.")
        elif (path.startswith("strategies.") and "strategy" not in entry) or path == "strategies.":
            yield f"{path}{key}.strategy", value
        elif value is not None:
            yield f"{path}{key}", value


def _common(settings: Mapping[str, str]) -> str:
    identities = [
        without_url(value).rpartition("/")[2]
        for name, value in settings.items()
        if name.rpartition(".")[2] in IDENTITY
    ]
    return identities[0] if len(set(identities)) == 1 else "scripted strategies"


MAX_NUMBERS = 4


def settings(evidence: Evidence) -> Iterator[Shown]:
    """Report the scores of players that fill all seats, for each setting of each game.

    A setting is a combination of the parameters that vary. Confidence intervals are clustered by
    instance (CR1, Student's t). The last rows contain the mean and the spread (a sample standard
    deviation) over settings with equal weights. The figures show the same values. Imported bar
    games count only with the feedback that the paper scores.
    """
    runs = scores.scored(evidence) if evidence.players else _several(evidence)
    several = [
        game for game in scores.GAMES if runs.filter(game=game)["configuration"].n_unique() > 1
    ]
    if not several:
        raise NoData(
            "no game was played with one player in all seats and two settings; the preset "
            "gama-settings has such games, which have a grid of parameters"
        )
    panels = []
    for game in several:
        means = _settings_means(evidence, runs, game)
        yield _settings_table(evidence, game, means)
        yield from _table_8(evidence, game, means)
        order = means["setting"].unique(maintain_order=True).to_list()
        players = means["player"].unique(maintain_order=True).to_list()
        layers = [
            _marked_line(player, means.filter(player=player).to_dicts(), index, "setting")
            for index, player in enumerate(players)
        ]
        panels.append(Chart(scores.GAMES[game], UNIT, layers, Axis(names=tuple(order))))
    yield Charts("settings", "Scores by setting", panels, "Whiskers are 95 % confidence intervals.")


def _several(evidence: Evidence) -> pl.DataFrame:
    """The matches of players who played a game with several settings."""
    runs = scores.scored(evidence)
    for game, name in scores.VARIANTS.items():
        if evidence.played([game]):
            default = getattr(get_game(game).rules(), name)
            configurations = parameters_in(evidence.scored(game))
            excluded = [key for key, values in configurations.items() if values[name] != default]
            runs = runs.filter(~pl.col("configuration").is_in(excluded))
    return runs.filter(pl.col("configuration").n_unique().over("player", "game") > 1)


def _settings_means(evidence: Evidence, runs: pl.DataFrame, game: str) -> pl.DataFrame:
    matches = runs.filter(pl.col("game") == game)
    values = scores.varied(evidence.scored(game).join(matches, on="configuration", how="semi"))
    order = sorted(values, key=lambda key: [_sortable(value) for value in values[key].values()])
    parts = [
        scores.mean_scores(matches.filter(pl.col("configuration") == key))
        .filter(game=game)
        .with_columns(configuration=pl.lit(key), setting=pl.lit(setting_text(values[key])))
        for key in order
    ]
    return pl.concat(parts)


def setting_text(values: Mapping[str, Any]) -> str:
    """Return a game's setting as readable text.

    >>> setting_text({"ratio": "1/2", "told": "smart"})
    'ratio 1/2, told smart'
    >>> setting_text({"hit_rates": [0.1, 0.2, 0.3, 0.4, 0.5]})
    'hit rates 0.1 to 0.5'
    """
    texts = {
        name: f"{readable(value[0])} to {readable(value[-1])}"
        if isinstance(value, list) and len(value) > MAX_NUMBERS
        else readable(value)
        for name, value in values.items()
    }
    return ", ".join(f"{plain(name)} {text}" for name, text in texts.items())


def _sortable(value: Any) -> tuple[int, float, str]:
    numerator, _, denominator = str(value).partition("/")
    try:
        return 0, float(numerator) / float(denominator or 1), ""
    except (ValueError, ZeroDivisionError):
        return 1, 0.0, str(value)


def _settings_table(evidence: Evidence, game: str, means: pl.DataFrame) -> ReportTable:
    players = means["player"].unique(maintain_order=True).to_list()
    keys = {player: f"score {player}" for player in players}
    named = means.with_columns(pl.col("player").replace_strict(keys))
    frame = side_by_side(named, "score", "player")
    last = [
        frame.select(pl.lit(title).alias("setting"), *(statistic(key) for key in keys.values()))
        for title, statistic in (("mean over settings", pl.mean), ("spread over settings", pl.std))
    ]
    return scores.table(
        evidence,
        "settings",
        pl.concat([frame, *last], how="diagonal"),
        name=f"settings-{anchor(game.replace('_', '-'))}",
        columns={"players": {key: player for player, key in keys.items()}},
        facts={"game": scores.GAMES[game]},
        leads=lambda row: (
            Lead(game, {"configuration": row["configuration"], "status": "finished"})
            if row["configuration"]
            else None
        ),
    )


class PaperSetting(NamedTuple):
    """The parameters that Table 8 varies in a game, and the headings of their values' columns."""

    symbol: str
    parameters: tuple[str, ...]
    title: Callable[..., str]


DISHES = ("cheap_price", "cheap_utility", "costly_price", "costly_utility")
SETTINGS = {
    "guess_the_average": PaperSetting("R", ("ratio",), str),
    "el_farol_bar": PaperSetting("R", ("capacity",), lambda value: f"{100 * value:.0f}%"),
    "divide_the_dollar": PaperSetting("G", ("golds",), readable),
    "public_goods": PaperSetting("R", ("factor",), lambda value: fixed(value, 1)),
    "diners_dilemma": PaperSetting(
        "(Pl, Ul, Ph, Uh)", DISHES, lambda *values: f"({','.join(map(readable, values))})"
    ),
    "sealed_bid_auction": PaperSetting("Range", ("high",), lambda value: f"(0,{value}]"),
    "battle_royale": PaperSetting(
        "Range", ("hit_rates",), lambda rates: f"[{100 * rates[0]:.0f},{100 * rates[-1]:.0f}]"
    ),
    "pirate_game": PaperSetting("G", ("gold",), readable),
}


def _table_8(evidence: Evidence, game: str, means: pl.DataFrame) -> Iterator[ReportTable]:
    """Yield a game's panel of Tables 8, 13, 17 and 21: scores by model and setting, with means.

    Only configurations that differ in the parameters of the paper count. There is no table with
    fewer than two settings.
    """
    setting = SETTINGS[game]
    titles = _setting_titles(evidence, game)
    players = paper_tables.shown(evidence, means["player"].unique(maintain_order=True).to_list())
    selected = means.filter(
        pl.col("configuration").is_in(list(titles)), pl.col("player").is_in(list(players))
    )
    columns = {
        titles[key]: f"{plain(setting.parameters[0])} {titles[key]}"
        for key in selected["configuration"].unique(maintain_order=True)
    }
    if len(columns) < 2:
        return
    names = {label: model.key for label, model in players.items()}
    cells = selected.select(
        pl.col("player").replace_strict(names),
        pl.col("configuration").replace_strict(titles).replace_strict(columns).alias("key"),
        "score",
    )
    wide = side_by_side(cells, "score", "key")
    yield scores.table(
        evidence,
        "table-8",
        with_statistics(wide, list(columns.values()), "average", f"average{ERROR}"),
        name=f"table-8-{anchor(game.replace('_', '-'))}",
        columns={"settings": {key: title for title, key in columns.items()}},
        facts={"game": paper_tables.GAMES[game], "symbol": setting.symbol},
    )


def _setting_titles(evidence: Evidence, game: str) -> dict[str, str]:
    """Titles of the configurations that have defaults except for the varied setting."""
    setting, defaults = SETTINGS[game], get_game(game).rules().model_dump(mode="json")
    configurations = parameters_in(evidence.scored(game))
    fixed_names = [name for name in varying(configurations) if name not in setting.parameters]
    return {
        key: setting.title(*(values[name] for name in setting.parameters))
        for key, values in configurations.items()
        if all(values[name] == defaults.get(name) for name in fixed_names)
    }
