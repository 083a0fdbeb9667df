"""What each player gains in each role: Table 3."""

from collections.abc import Iterator, Sequence

import polars as pl

from cheaptalk.reports.figures import Panel
from cheaptalk.reports.pages import capital
from cheaptalk.reports.recipes.evidence import Evidence
from cheaptalk.reports.recipes.glee.drawing import Series, dots
from cheaptalk.reports.recipes.glee.families import GAINS, ROLES
from cheaptalk.reports.recipes.glee.fits import METHODS, Fits, additive, columns
from cheaptalk.reports.recipes.glee.people import kinds
from cheaptalk.reports.recipes.parts import Charts, Column, Lacking, Lead, Part, Table


def self_gains(evidence: Evidence) -> Iterator[Table | Charts]:
    """What players gain in each role, all else equal; people count as one player.

    The regression is that of the market's effects, of Alice's gain on Alice's player and of Bob's
    gain on Bob's player (GLEE, section 3): how much a player adds to its own gain over the
    reference player in the same seat, against the same opponents, in the same configurations.
    """
    found = evidence.once(additive)
    sides = [(one, role) for one in found for role in ROLES if _compared(one, role)]
    if not sides:
        raise Lacking("no role was played by two players; seat another one, or import GLEE's games")
    frame = _joined(sides, evidence.once(kinds))
    panels = [_panel(one, frame) for one in found if any(of is one for of, _ in sides)]
    caption = "Dots are effects on a player's own gain, whiskers clustered intervals."
    yield Charts("self-gain-figures", "Gain over the reference player", panels, caption)
    titles = {_name(one, role): f"{capital(one.played.game)}: {ROLES[role]}" for one, role in sides}
    played = {who: one.played.game for one, role in reversed(sides)
              for who in one.played.frame[ROLES[role]].unique()}  # fmt: skip
    yield Table(
        "self-gain", "Self-gain by player, role and family", frame,
        (Column("player", "Player"), Column("kind", "Kind"), *columns(titles, frame)),
        f"{METHODS} {_references(sides)}",
        tuple(dict.fromkeys(note for one in found for note in one.notes)),
        leads=lambda row: Lead(played[row["player"]], {"player": row["player"]}),
    )  # fmt: skip


def _compared(one: Fits, role: str) -> bool:
    """Whether a role's gain could be regressed on who played it."""
    return GAINS[role] in one.found and one.played.frame[ROLES[role]].n_unique() > 1


def _name(one: Fits, role: str) -> str:
    return f"{one.played.game} {role}"


def _joined(sides: Sequence[tuple[Fits, str]], kinds: dict[str, str]) -> pl.DataFrame:
    """A row a player, those who gain most in the first column on top."""
    whole = pl.DataFrame({"player": []}, schema={"player": pl.String})
    for one, role in sides:
        effects = one.beside(ROLES[role], {GAINS[role]: _name(one, role)}).drop("reference")
        whole = whole.join(
            effects.rename({"level": "player"}), on="player", how="full", coalesce=True
        )
    named = whole.with_columns(pl.col("player").replace_strict(kinds, default="").alias("kind"))
    return named.sort(_name(*sides[0]), "player", descending=[True, False], nulls_last=True)


def _references(sides: Sequence[tuple[Fits, str]]) -> str:
    """Who the others are compared with."""
    chosen = {_name(one, role): one.played.references[ROLES[role]] for one, role in sides}
    names = set(chosen.values())
    if len(names) == 1:
        return f"Effects are over {names.pop()}."
    parts = ", ".join(f"{who} in {name}" for name, who in chosen.items())
    return f"Nobody played every role, so effects are over different players: {parts}."


def _panel(one: Fits, frame: pl.DataFrame) -> Panel:
    shown = [Series(title, f"{_name(one, role)} clustered") for role, title in ROLES.items()
             if _compared(one, role)]  # fmt: skip
    rows = frame.filter(pl.any_horizontal(pl.col(key).is_not_null() for _, key in shown))
    leads = [Lead(one.played.game, {"player": who}) for who in rows["player"]]
    return dots(capital(one.played.game), rows, "player", shown, leads=leads)


SELF_GAINS = Part("What players gain", "Table 3", self_gains)
