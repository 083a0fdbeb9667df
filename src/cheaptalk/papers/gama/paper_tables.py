"""Names of the paper's models, and numbers of its tables."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from cheaptalk.models.prices import without_url
from cheaptalk.papers.gama.scores import OVERALL, entries, table
from cheaptalk.papers.printed import NOTHING, Columns, position, selected_labels
from cheaptalk.reports.pages import anchor
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.tables import ReportTable

GAMES = {
    "guess_the_average": "Guess 2/3 of the Average",
    "el_farol_bar": "El Farol Bar",
    "divide_the_dollar": "Divide the Dollar",
    "public_goods": "Public Goods Game",
    "diners_dilemma": "Diner's Dilemma",
    "sealed_bid_auction": "Sealed-Bid Auction",
    "battle_royale": "Battle Royale",
    "pirate_game": "Pirate Game",
    OVERALL: "Overall",
}
"""The paper's names of games, in the order of rows."""
FIRST_TABLES = {
    "voyage": 2,
    "runs": 4,
    "temperature": 5,
    "prompt version": 6,
    "reasoning strategy": 7,
}
ONLY_GPT = ("voyage", "reasoning strategy")
"""Contents of tables that the paper has only for GPT-3.5."""
RUNS = 5


class PaperModel(NamedTuple):
    """A model of Table 1, with the two headings of its column.

    ``key`` is the label in the roster ``gama``; ``further`` is the offset of its table numbers from
    GPT-3.5's, or None if it has no other tables.
    """

    key: str
    family: str
    version: str
    further: int | None = None


MODELS = {
    start: PaperModel(*model)
    for start, *model in pl.read_csv(
        Path(__file__).with_name("models.csv"), schema_overrides={"version": pl.String}
    ).iter_rows()
}
"""The paper's models by the start of their short names, in lower-case letters and digits."""


def paper_model(name: str) -> PaperModel | None:
    """Return the paper's model with this name, or None for other models.

    >>> paper_model("openrouter/meta-llama/llama-3.1-70b-instruct").version
    '70B'
    >>> paper_model("gpt-4o-2024-11-20") is None
    True
    """
    short = without_url(name).rpartition("/")[2].lower()
    short = re.sub(r"[^a-z0-9]", "", short).removeprefix("meta")
    return next((model for start, model in MODELS.items() if short.startswith(start)), None)


def by_default(entry: Mapping[str, Any]) -> bool:
    """Return whether a player's settings are the defaults of the paper's experiments."""
    defaults = {"temperature": 1, "style": "v1", "chain_of_thought": None, "persona": None}
    return all(entry.get(name) in (None, value) for name, value in defaults.items())


def shown(evidence: Evidence, labels: Sequence[str]) -> dict[str, PaperModel]:
    """Return the players in Tables 1, 4 and 8, each with the corresponding model of the paper.

    A treated player is omitted if the same model also plays without treatment. If two players have
    the same model, neither gets the paper's name.
    """
    players, selected = entries(evidence), selected_labels(evidence, evidence.labels)
    models = {label: str(players.get(label, {}).get("model") or label) for label in labels}
    untreated = {models[label] for label in labels if by_default(players.get(label, {}))}
    included = [
        label
        for label in labels
        if label in selected
        and (by_default(players.get(label, {})) or models[label] not in untreated)
    ]
    matching = [paper_model(models[label]) for label in included]
    return {
        label: model if model and matching.count(model) == 1 else PaperModel(label, "", label)
        for label, model in zip(included, matching, strict=True)
    }


def in_paper_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows in the paper's order, with the paper's titles."""
    return frame.sort(position("game", GAMES)).select(
        pl.col("game").replace_strict(GAMES).alias("title"), pl.all()
    )


def numbered_table(
    evidence: Evidence,
    kind: str,
    model: PaperModel | None,
    player: str,
    frame: pl.DataFrame,
    *,
    columns: Mapping[str, Columns],
    facts: Mapping[str, object] = NOTHING,
) -> ReportTable:
    """Return a model's table, with GPT-3.5's number if the paper has none of this model."""
    number, further = FIRST_TABLES[kind], model.further if model else None
    if further is None or (further and kind in ONLY_GPT):
        name = f"table-{number}-{anchor(player)}".lower()
    else:
        number += further
        name = f"table-{number}"
    layout = kind if kind in ("runs", "voyage") else "treatments"
    facts = {**facts, "number": number, "player": player}
    return table(evidence, layout, frame, name=name, columns=columns, facts=facts)
