"""The game among providers of models, in both readings of the paper (002, section 6.5 and K)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cheaptalk.equilibrium.empirical.bootstrap import Bootstrap, Spread, spreads
from cheaptalk.equilibrium.empirical.metrics import by_row, names_of
from cheaptalk.equilibrium.solvers.payoffs import EquilibriumError, Floats
from cheaptalk.equilibrium.solvers.provider_game import Construction, ProviderGame, provider_game
from cheaptalk.models.model_strings import ModelName
from cheaptalk.rules import CheaptalkError

GIVEN = "value given"
"""The measure of what a strategy's offers give away; see :func:`.sided`."""
ABOUT: Mapping[Construction, tuple[str, str]] = {
    "mixtures": (
        "Each provider mixes its strategies",
        (
            "For each ordered pair of providers, the game between their strategies is solved by "
            "Lemke and Howson's algorithm, and the row provider gets what its mixture gets there "
            "(appendix K.1)."
        ),
    ),
    "selected": (
        "Each provider fields one strategy",
        (
            "Each provider fields the strategy that gets most against the equilibrium of all other "
            "providers' strategies (section 6.5)."
        ),
    ),
}
"""The title of each reading, and how it is made."""


class ProviderReading(NamedTuple):
    """The game among providers in one reading.

    Attributes:
        name, title, about: of the reading.
        payoffs: what the row provider gets against the column provider.
        responses: in what share of draws the row provider is a best reply to the column provider;
            columns sum to 1 (table 14).
        shares: of the providers in the equilibrium among them.
        given: what each gives away in its offers, by its own valuation, against that equilibrium
            (table 13); None where it is not known.
        several: the largest share of draws in which a pair has several inner equilibria.
    """

    name: Construction
    title: str
    about: str
    payoffs: list[list[Spread]]
    responses: list[list[float]]
    shares: list[Spread]
    given: list[Spread] | None
    several: float


@dataclass(frozen=True)
class Providers:
    """The game among providers.

    Attributes:
        members: their strategies, by provider.
        left_out: strategies without a provider.
        readings: those that could be solved.
        absent: why something is not known, by what it is.
    """

    members: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    readings: tuple[ProviderReading, ...]
    absent: Mapping[str, str]


def providers_of_models(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Whose models play under which label, as far as the model's name says.

    It is the vendor in the name where a host serves models of many, as in
    ``openrouter/openai/gpt-4o``, and otherwise the maker that is asked itself.

    Args:
        specs: what makes each player of a study, by label.

    >>> providers_of_models({"a": {"model": "openrouter/openai/gpt-4o"}, "b": {"strategy": "soft"}})
    {'a': 'openai'}
    """
    found = {}
    for label, spec in specs.items():
        with suppress(ValueError, CheaptalkError):
            name = ModelName.parse(str(spec.get("model") or ""))
            vendor, slash, _ = name.model.partition("/")
            maker = name.provider if name.entry.maker else ""
            if provider := vendor if slash else maker:
                found[label] = provider
    return found


def providers_of(drawn: Bootstrap, grouping: Mapping[str, str]) -> Providers | None:
    """The game among providers over the draws of a game's equilibrium; None of fewer than two.

    Args:
        drawn: the game's draws, or the mean payoffs in the shape of one; perhaps with the measure
            :data:`GIVEN`.
        grouping: the provider of strategies, by label; strategies without are left out, and so
            are labels that the game does not have.
    """
    inside = [at for at, label in enumerate(drawn.labels) if label in grouping]
    owners = [grouping[drawn.labels[at]] for at in inside]
    if len(set(owners)) < 2:
        return None
    both = [drawn.estimate or drawn, drawn]
    absent: dict[str, str] = {}
    row, column = names_of(GIVEN)
    gifts = [
        by_row(one.values[row], one.values[column])[:, inside][:, :, inside]
        if row in one.values
        else None
        for one in both
    ]
    lacking = _lacking(
        [one for one in gifts if one is not None], [drawn.labels[at] for at in inside]
    )
    if lacking:
        absent["value given"], gifts = lacking, [None] * len(both)
    readings = []
    for name in ABOUT:
        try:
            games = [
                provider_game(
                    one.payoffs[:, inside][:, :, inside], owners, given=gift, reading=name
                )
                for one, gift in zip(both, gifts, strict=True)
            ]
            readings.append(_read(name, games[0], games[1], drawn.freedom))
        except EquilibriumError as error:
            absent[ABOUT[name][0]] = str(error)
    members = {
        owner: tuple(label for label in drawn.labels if grouping.get(label) == owner)
        for owner in dict.fromkeys(owners)
    }
    left_out = tuple(label for label in drawn.labels if label not in grouping)
    return Providers(members, left_out, tuple(readings), absent)


def _lacking(gifts: list[Floats], labels: list[str]) -> str:
    """Who makes no offers, so that the value given is unknown; empty where all make some.

    Args:
        gifts: of all matches, then of the draws, each of shape (games, n, n).
        labels: of the strategies.
    """
    if not any(np.isnan(one).any() for one in gifts):
        return ""
    never = np.isnan(gifts[0][0])
    silent = np.flatnonzero(never.all(axis=1))
    if len(silent):
        return f"{labels[silent[0]]} never makes an offer"
    giver, rival = np.argwhere(never if never.any() else np.isnan(gifts[-1]).any(axis=0))[0]
    how = "never makes an offer" if never.any() else "makes no offer in some draws"
    return f"{labels[giver]} {how} to {labels[rival]}"


def _read(
    name: Construction, found: ProviderGame, drawn: ProviderGame, freedom: int
) -> ProviderReading:
    given = None
    if found.given is not None:
        given = spreads(found.value_given()[0], drawn.value_given(), freedom)
    return ProviderReading(
        name, *ABOUT[name],
        [
            spreads(row, drawn.payoffs[:, at], freedom)
            for at, row in enumerate(found.payoffs[0])
        ],
        drawn.best_responses().tolist(),
        spreads(found.mixtures()[0], drawn.mixtures(), freedom),
        given,
        float(drawn.several.max()),
    )  # fmt: skip
