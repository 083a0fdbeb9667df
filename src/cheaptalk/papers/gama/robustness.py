"""Robustness and generalisation: players who differ in a setting, and games that do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.frames.reader import parameters_in
from cheaptalk.papers.gama import paper_tables
from cheaptalk.papers.gama.charts import marked_line
from cheaptalk.papers.gama.leaderboard import UNIT
from cheaptalk.papers.gama.scores import (
    GAMES,
    OVERALL,
    TITLES,
    VARIANTS,
    by_run,
    default_runs,
    entries,
    scored,
    scores,
    varied,
)
from cheaptalk.reports.charts.chart import Axis, Chart, Lead
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.means import side_by_side
from cheaptalk.reports.recipes.parts import Charts, Lacking
from cheaptalk.reports.recipes.tables import Header, ReportTable
from cheaptalk.rules import game_box
from cheaptalk.statistics import pairwise_tests
from cheaptalk.text import capital, plain, readable

REASONING = "reasoning strategy"
VERSION = "prompt version"
TEMPERATURE = "temperature"
CALLED = {"chain_of_thought": REASONING, "persona": REASONING, "style": VERSION}
"""Settings that are called otherwise here; those of one name are one treatment."""
IDENTITY = ("model", "strategy", "person", "recorded", "experiment")
"""Settings in which players differ who are others altogether."""
PAPER = {TEMPERATURE: "1", VERSION: "v1"}
"""What imported players who are left alone have, and some of the paper's experiments again."""
LEFT = "default"
"""The value of a setting that is left alone."""
ROSTER = ", as the roster gama-treatments does"


class SettingFamily(NamedTuple):
    """Players who differ in one setting alone.

    Attributes:
        setting: which one.
        name: the model or strategy that they have in common.
        values: the setting's value as it is shown, by label, in order.
    """

    setting: str
    name: str
    values: dict[str, str]

    @property
    def title(self) -> str:
        """The setting as people read it."""
        if self.game is None:
            return capital(self.setting)
        return (
            f"{GAMES.get(self.game, capital(self.game))}, {plain(self.setting.rpartition('.')[2])}"
        )

    @property
    def game(self) -> str | None:
        """The only game that the setting is about, if it is a scripted strategy's for one."""
        first, _, rest = self.setting.partition(".")
        return rest.partition(".")[0] if first == "strategies" else None


def temperatures(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players who differ in their temperature alone.

    Mean and spread are over the temperatures, each of which counts once; the spread is a sample
    standard deviation. Intervals are as on the leaderboard.
    """
    yield from _shown(evidence, [TEMPERATURE], "temperature", f"temperature: 0{ROSTER}")


def versions(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players who differ in the style of the prompts alone, such as v1 to v5.

    Mean and spread are over the versions, each of which counts once; the spread is a sample
    standard deviation. Intervals are as on the leaderboard.
    """
    yield from _shown(evidence, [VERSION], "the style of their prompts", f"style: v2{ROSTER}")


def strategies(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players who are told how to think, or who to be, and of those who are not.

    Mean and spread are over these ways, each of which counts once; the spread is a sample
    standard deviation. Intervals are as on the leaderboard. The pirate row of the paper's Table 7
    is no experiment: its recorded games are copies of plain runs.
    """
    wanted = "how they are told to think or who to be"
    yield from _shown(evidence, [REASONING], wanted, f"chain_of_thought: step_by_step{ROSTER}")


def others(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players who differ in any other setting alone, of a model or of a script.

    Mean and spread are over the values, each of which counts once; the spread is a sample
    standard deviation. Intervals are as on the leaderboard.
    """
    rest = {one.setting for one in families(entries(evidence))} - {TEMPERATURE, VERSION, REASONING}
    yield from _shown(evidence, sorted(rest), "any other setting", "history: {last: 5}")


def _shown(
    evidence: Evidence, settings: Sequence[str], wanted: str, example: str
) -> Iterator[ReportTable | Charts]:
    """A table for each family that differs in one of these settings, then a figure a setting."""
    runs = default_runs(scored(evidence))
    again = {} if evidence.players else PAPER
    present = set(runs["player"])
    found = []
    for family in families(entries(evidence)):
        kept = {label: value for label, value in family.values.items() if label in present}
        if family.setting in settings and len(kept) > 1:
            here = family._replace(values=kept)
            means = scores(own := _of(runs, here))
            if own["game"].n_unique() == 1:
                means = means.filter(pl.col("game") != OVERALL)
            found.append((here, means))
    if not found:
        raise Lacking(
            f"no two players who have finished differ in {wanted} alone; add one that differs, "
            f"such as by {example}"
        )
    for family, means in found:
        table = _table(family, means, again.get(family.setting))
        yield table
        if family.setting in paper_tables.FIRST_TABLES:
            yield _in_paper_form(evidence, family, table.frame, again.get(family.setting))
        yield from _tests(family, runs, evidence)
    for setting in dict.fromkeys(family.setting for family, _ in found):
        of = [one for one in found if one[0].setting == setting]
        yield Charts(
            anchor(setting), f"{of[0][0].title} and scores",
            [_panel(game, of) for game in TITLES if any(game in set(one["game"]) for _, one in of)],
            "Whiskers are 95 % intervals." + " A line a group of players." * (len(of) > 1),
        )  # fmt: skip


def _of(runs: pl.DataFrame, family: SettingFamily) -> pl.DataFrame:
    """A family's matches, of one game where only that one tells its players apart."""
    own = runs.filter(pl.col("player").is_in(list(family.values)))
    return own.filter(pl.col("game") == family.game) if family.game else own


def _name(family: SettingFamily) -> str:
    return anchor(f"{family.setting}-{family.name}").lower()


def _table(family: SettingFamily, means: pl.DataFrame, again: str | None) -> ReportTable:
    """Scores by value.

    Args:
        again: the value that those left alone have, too, and which counts once.
    """
    keys = {f"{family.setting} {value}": value for value in family.values.values()}
    named = dict(zip(family.values, keys, strict=True))
    found = means.with_columns(
        pl.col("player").replace_strict(named), title=pl.col("game").replace_strict(TITLES)
    )
    frame = side_by_side(found, "score", "player")
    columns = {value: pl.col(key) for key, value in keys.items()}
    if again in columns and LEFT in columns:
        columns[again] = pl.coalesce(columns[again], columns.pop(LEFT))
    every = pl.concat_list(list(columns.values())).list
    whole = pl.all_horizontal(one.is_not_null() for one in columns.values())
    frame = frame.with_columns(
        mean=pl.when(whole).then(every.mean()), spread=pl.when(whole).then(every.std())
    )
    return ReportTable(
        _name(family),
        f"{family.title}: {family.name}",
        frame,
        (
            Header("title", "Game"),
            *(Header(key, value, UNIT, 1) for key, value in keys.items()),
            Header("mean", "Mean", UNIT, 1), Header("spread", "Spread", "s.d.", 1),
        ),
    )  # fmt: skip


def _in_paper_form(
    evidence: Evidence, family: SettingFamily, frame: pl.DataFrame, again: str | None
) -> ReportTable:
    """Tables 5 to 7; what is left alone fills the gaps of the value that is the same."""
    keys = {f"{family.setting} {value}": value for value in family.values.values()}
    left, same = f"{family.setting} {LEFT}", f"{family.setting} {again}"
    if left in keys and same in keys:
        del keys[left]
        frame = frame.with_columns(pl.coalesce(same, left).alias(same))
    return paper_tables.treatments(evidence, family.setting, family.name, frame, keys)


def _tests(family: SettingFamily, runs: pl.DataFrame, evidence: Evidence) -> Iterator[ReportTable]:
    """Differences between every two values, over all games, where each has a second run."""
    found = by_run(_of(runs, family))
    kept = found.filter(pl.col("game") == (family.game or OVERALL))
    if kept.is_empty() or kept["player"].n_unique() < 2:
        return
    if kept.group_by("player", maintain_order=True).len()["len"].min() == 1:
        return
    named = kept.with_columns(pl.col("player").replace_strict(family.values))
    tests = pairwise_tests(
        named, "score", "player", paired=False, cluster=["run"], draws=evidence.draws,
        seed=evidence.seed,
    )  # fmt: skip
    columns = (
        Header("first", "Value"), Header("second", "Other value"),
        Header("difference", "Difference", "of means", 1), Header("p", "p", "", 3),
        Header("p_holm", "p corrected", "Holm's rule", 3),
        Header("n_first", "Runs", "", 0), Header("n_second", "Other's runs", "", 0),
    )  # fmt: skip
    yield ReportTable(
        f"{_name(family)}-tests", f"{family.title}: differences for {family.name}",
        tests.frame, columns, "Unpaired permutation tests, two-sided, of runs' mean scores.",
        tests.notes,
    )  # fmt: skip


def _panel(game: str, found: Sequence[tuple[SettingFamily, pl.DataFrame]]) -> Chart:
    layers = []
    for place, (family, means) in enumerate(found):
        rows = {row["player"]: row for row in means.filter(game=game).iter_rows(named=True)}
        shown = [rows[label] | {"value": value} for label, value in family.values.items()
                 if label in rows]  # fmt: skip
        layers.append(marked_line(family.name, shown, place, "value"))
    values = dict.fromkeys(value for family, _ in found for value in family.values.values())
    return Chart(TITLES[game], UNIT, layers, Axis(names=tuple(values)))


def families(players: Mapping[str, Mapping[str, Any]]) -> list[SettingFamily]:
    """All sets of two players or more who differ in one setting, by setting.

    Args:
        players: a study's entries by label.

    >>> found = families({"a": {"model": "vllm/x", "temperature": 0.2},
    ...                   "b": {"model": "vllm/x", "temperature": 0}, "c": {"model": "vllm/y"}})
    >>> [(one.setting, one.name, one.values) for one in found]
    [('temperature', 'x', {'b': '0', 'a': '0.2'})]
    """
    settings = {label: dict(_settings(entry)) for label, entry in players.items()}
    names = dict.fromkeys(name for of in settings.values() for name in of)
    found = []
    for name in names:
        if name.rpartition(".")[2] in IDENTITY:
            continue
        alike: dict[str, list[str]] = {}
        for label, of in settings.items():
            rest = sorted((key, value) for key, value in of.items() if key != name)
            alike.setdefault(str(rest), []).append(label)
        for labels in alike.values():
            if len(labels) > 1:
                values = {label: settings[label].get(name, LEFT) for label in labels}
                found.append(SettingFamily(name, _common(settings[labels[0]]), _ordered(values)))
    return found


def _settings(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """An entry's settings as texts by name, those within others under ``outer.inner``."""
    together: dict[str, list[str]] = {}
    for name, value in _leaves(entry):
        text = f"CoT {plain(value)}" if name == "chain_of_thought" else readable(value)
        together.setdefault(CALLED.get(name.partition(".")[0], name), []).append(text)
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
    """What players of these settings are called together."""
    own = [value.rpartition("/")[2] for name, value in settings.items()
           if name.rpartition(".")[2] in IDENTITY]  # fmt: skip
    return own[0] if len(set(own)) == 1 else "scripted strategies"


def _ordered(values: dict[str, str]) -> dict[str, str]:
    """Numbers by size and texts by name, with what is left alone first."""
    order = sorted(values, key=lambda one: (values[one] != LEFT, _sortable(values[one])))
    return {label: values[label] for label in order}


MANY = 4
"""Numbers in a list up to which all are shown."""


def settings(evidence: Evidence) -> Iterator[ReportTable | Charts]:
    """Scores of players alone at their tables, setting by setting of each game.

    A setting is what varies in the game's parameters. Of imported games, those stand here that were
    played in several settings, with the bar's feedback that the paper scores. Intervals are
    clustered by deal (CR1, Student's t). The last rows take each setting once: the mean over
    settings, and the spread, a sample standard deviation over settings. Figures show the same.
    """
    runs = scored(evidence) if evidence.players else _several(evidence)
    several = [game for game in GAMES
               if runs.filter(pl.col("game") == game)["configuration"].n_unique() > 1]  # fmt: skip
    if not several:
        raise Lacking(
            "no game was played alone in two settings; run the preset gama-settings, or give a "
            "game a grid of parameters"
        )
    panels = []
    for game in several:
        found = _settings_means(evidence, runs, game)
        yield _settings_table(game, found)
        yield from paper_tables.settings(evidence, game, found)
        panels.append(_settings_panel(game, found))
    yield Charts("settings", "Scores by setting", panels, "Whiskers are 95 % intervals.")


def _several(evidence: Evidence) -> pl.DataFrame:
    """The imported matches of players in games that they played in several settings."""
    runs = scored(evidence)
    for game, name in VARIANTS.items():
        if evidence.played([game]):
            default = getattr(game_box(game).rules(), name)
            known = parameters_in(evidence.scored(game))
            other = [key for key, values in known.items() if values[name] != default]
            runs = runs.filter(~pl.col("configuration").is_in(other))
    return runs.filter(pl.col("configuration").n_unique().over("player", "game") > 1)


def _settings_means(evidence: Evidence, runs: pl.DataFrame, game: str) -> pl.DataFrame:
    """One row a setting and player, settings in order of their values."""
    own = runs.filter(pl.col("game") == game)
    used = varied(evidence.scored(game).join(own, on="configuration", how="semi"))
    order = sorted(used, key=lambda key: [_sortable(value) for value in used[key].values()])
    parts = [
        scores(own.filter(pl.col("configuration") == key)).filter(game=game)
        .with_columns(configuration=pl.lit(key), setting=pl.lit(setting_text(used[key])))
        for key in order
    ]  # fmt: skip
    return pl.concat(parts)


def setting_text(values: Mapping[str, Any]) -> str:
    """A setting as people read it.

    >>> setting_text({"ratio": "1/2", "told": "smart"})
    'ratio 1/2, told smart'
    >>> setting_text({"hit_rates": [0.1, 0.2, 0.3, 0.4, 0.5]})
    'hit rates 0.1 to 0.5'
    """
    return ", ".join(f"{plain(name)} {_value_text(value)}" for name, value in values.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list) and len(value) > MANY:
        return f"{readable(value[0])} to {readable(value[-1])}"
    return readable(value)


def _sortable(value: Any) -> tuple[int, float, str]:
    """Where a value stands: numbers and fractions by size, then texts."""
    over, _, under = str(value).partition("/")
    try:
        return 0, float(over) / float(under or 1), ""
    except (ValueError, ZeroDivisionError):
        return 1, 0.0, str(value)


def _settings_table(game: str, found: pl.DataFrame) -> ReportTable:
    players = found["player"].unique(maintain_order=True).to_list()
    keys = {player: f"score {player}" for player in players}
    named = found.with_columns(pl.col("player").replace_strict(keys))
    frame = side_by_side(named, "score", "player")
    last = [
        frame.select(pl.lit(title).alias("setting"), *(of(key) for key in keys.values()))
        for title, of in (("mean of the settings", pl.mean), ("spread over the settings", pl.std))
    ]
    return ReportTable(
        f"settings-{anchor(game.replace('_', '-'))}", GAMES[game],
        pl.concat([frame, *last], how="diagonal"),
        (
            Header("setting", "Setting"),
            *(Header(key, player, UNIT, 1) for player, key in keys.items()),
        ),
        leads=lambda row: Lead(game, {"configuration": row["configuration"], "status": "finished"})
        if row["configuration"] else None,
    )  # fmt: skip


def _settings_panel(game: str, found: pl.DataFrame) -> Chart:
    order = found["setting"].unique(maintain_order=True).to_list()
    players = found["player"].unique(maintain_order=True).to_list()
    layers = [
        marked_line(player, found.filter(player=player).to_dicts(), place, "setting")
        for place, player in enumerate(players)
    ]
    return Chart(GAMES[game], UNIT, layers, Axis(names=tuple(order)))
