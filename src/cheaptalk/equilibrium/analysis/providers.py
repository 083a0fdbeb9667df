"""The game among model providers, in the two versions of the item bargaining paper."""

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
from cheaptalk.printing.printout import Printed
from cheaptalk.rules import CheaptalkError

GIVEN = "value given"
"""The metric of the value that a strategy's offers give away; see :func:`.sided`."""
ABOUT: Mapping[Construction, tuple[str, str]] = {
    "mixtures": (
        "Each provider mixes its strategies",
        (
            "For each ordered pair of providers, the game between their strategies is solved by "
            "the Lemke-Howson algorithm. The row provider's payoff is that of its mixture in this "
            "equilibrium (appendix K.1)."
        ),
    ),
    "selected": (
        "Each provider uses one strategy",
        (
            "Each provider uses the strategy with the highest payoff against the equilibrium of "
            "all other providers' strategies (section 6.5)."
        ),
    ),
}
"""The title and the description of each construction."""


class ProviderReading(NamedTuple):
    """Results of the game among model providers under one of its two definitions.

    Attributes:
        payoffs: the payoff of the row provider against the column provider.
        responses: the share of draws in which the row provider is a best response to the column
            provider; columns sum to 1 (table 14).
        shares: the providers' probabilities in the equilibrium among them.
        value_given: the value that each provider gives away in its offers, by its own valuation,
            against that equilibrium (table 13); None if unknown.
        several: the largest share of draws in which any pair has several inner equilibria.
    """

    name: Construction
    title: str
    about: str
    payoffs: list[list[Spread]]
    responses: list[list[float]]
    shares: list[Spread]
    value_given: list[Spread] | None
    several: float


@dataclass(frozen=True, repr=False)
class Providers(Printed):
    """Results of the game in which each model provider chooses among its strategies.

    Attributes:
        left_out: strategies without a provider.
        absent: the reason for each missing result.
    """

    members: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]
    readings: tuple[ProviderReading, ...]
    absent: Mapping[str, str]


def providers_of_models(specs: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the provider of each labelled model, if it can be inferred from the model's name.

    If a host serves models of several vendors, as in ``openrouter/openai/gpt-4o``, the provider is
    the vendor; otherwise it is the model's maker.

    >>> providers_of_models({"a": {"model": "openrouter/openai/gpt-4o"}, "b": {"strategy": "soft"}})
    {'a': 'openai'}
    """
    providers = {}
    for label, spec in specs.items():
        with suppress(ValueError, CheaptalkError):
            name = ModelName.parse(str(spec.get("model") or ""))
            vendor, slash, _ = name.model.partition("/")
            maker = name.provider if name.entry.maker else ""
            if provider := vendor if slash else maker:
                providers[label] = provider
    return providers


def providers_of(bootstrap: Bootstrap, grouping: Mapping[str, str]) -> Providers | None:
    """Analyse the game among providers over bootstrap draws; None with fewer than two providers.

    Strategies outside ``grouping`` are ignored.
    """
    inside = [index for index, label in enumerate(bootstrap.labels) if label in grouping]
    owners = [grouping[bootstrap.labels[index]] for index in inside]
    if len(set(owners)) < 2:
        return None
    samples = [bootstrap.estimate or bootstrap, bootstrap]
    absent: dict[str, str] = {}
    row, column = names_of(GIVEN)
    gifts = [
        by_row(sample.values[row], sample.values[column])[:, inside][:, :, inside]
        if row in sample.values
        else None
        for sample in samples
    ]
    lacking = _lacking(
        [gift for gift in gifts if gift is not None], [bootstrap.labels[index] for index in inside]
    )
    if lacking:
        absent["value given"], gifts = lacking, [None] * len(samples)
    readings = []
    for name in ABOUT:
        try:
            games = [
                provider_game(
                    sample.payoffs[:, inside][:, :, inside], owners, given=gift, reading=name
                )
                for sample, gift in zip(samples, gifts, strict=True)
            ]
            readings.append(_read(name, games[0], games[1], bootstrap.freedom))
        except EquilibriumError as error:
            absent[ABOUT[name][0]] = str(error)
    members = {
        owner: tuple(label for label in bootstrap.labels if grouping.get(label) == owner)
        for owner in dict.fromkeys(owners)
    }
    left_out = tuple(label for label in bootstrap.labels if label not in grouping)
    return Providers(members, left_out, tuple(readings), absent)


def _lacking(gifts: list[Floats], labels: list[str]) -> str:
    """Return why the value given to opponents can't be computed, such as missing offers; or ""."""
    if not any(np.isnan(values).any() for values in gifts):
        return ""
    never = np.isnan(gifts[0][0])
    silent = np.flatnonzero(never.all(axis=1))
    if len(silent):
        return f"{labels[silent[0]]} never makes an offer"
    giver, rival = np.argwhere(never if never.any() else np.isnan(gifts[-1]).any(axis=0))[0]
    how = "never makes an offer" if never.any() else "makes no offer in some draws"
    return f"{labels[giver]} {how} to {labels[rival]}"


def _read(
    name: Construction, estimate: ProviderGame, draws: ProviderGame, freedom: int
) -> ProviderReading:
    value_given = None
    if estimate.given is not None:
        value_given = spreads(estimate.value_given()[0], draws.value_given(), freedom)
    return ProviderReading(
        name,
        *ABOUT[name],
        [
            spreads(row, draws.payoffs[:, index], freedom)
            for index, row in enumerate(estimate.payoffs[0])
        ],
        draws.best_responses().tolist(),
        spreads(estimate.mixtures()[0], draws.mixtures(), freedom),
        value_given,
        float(draws.several.max()),
    )
