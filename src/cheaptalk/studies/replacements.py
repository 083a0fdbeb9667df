"""Replacement of the models of a study, for example after a provider retired them.

A replaced player keeps all other settings, but not its label, because labels usually name a model:
``replace: {gpt-4o: openai/gpt-5-mini}`` renames a player ``gpt-4o`` to ``gpt-5-mini``. If several
players would get the same label, their old labels are added: ``gpt-5-mini/4o-c-4``. Players that
then differ in nothing become one player.
"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import Any, NamedTuple

from cheaptalk.models import ModelName
from cheaptalk.models.model_strings import canonical
from cheaptalk.models.prices import without_url
from cheaptalk.players import ModelSeat, RosterEntry
from cheaptalk.rules.errors import LocatedError, shown
from cheaptalk.studies.factors import crossed_label

REPLACE = "replace"
"""The key of a study that lists replacements."""


class Replaced(NamedTuple):
    """Players and factor levels with replaced models, and the new labels by old label.

    Several old labels have the same new label if their players became the same.
    """

    players: dict[str, Any]
    factors: dict[str, Any]
    labels: dict[str, str]


def replace_models(
    players: Mapping[Any, Any], factors: Mapping[Any, Any], replacements: object
) -> Replaced:
    """Replace models of players.

    Args:
        players: the entries of the study by label.
        factors: the levels of each factor by label; a level that names a replaced model is renamed.
        replacements: new model strings by old model string, with or without provider and URL, or by
            label; a label counts only if no model has this name.

    Raises:
        LocatedError: a replacement matches no player, two match the same player, or a new model is
            not a model string.
    """
    entries = {str(label): entry for label, entry in players.items()}
    models = {label: model for label, entry in entries.items() if (model := model_of(entry))}
    new_models = _new_models(models, _checked(replacements))
    levels = {str(label): factors[label] for label in factors}
    for label, new in new_models.items():
        if isinstance(levels.get(label), Mapping):
            names = {models[label]: new, _short(models[label]): _short(new)}
            levels[label] = {key: names.get(level, level) for key, level in levels[label].items()}
    changed = {label: _with_model(entry, new_models.get(label)) for label, entry in entries.items()}
    merged = _merged(
        {label: (_written(changed[label]), levels.get(label)) for label in models}, new_models
    )
    kept = [label for label in entries if label not in merged]
    names = {
        label: _candidate(label, factors.get(label), levels.get(label), new_models[label])
        for label in kept
        if label in new_models
    }
    uses = Counter(names.get(label, label) for label in kept)
    labels = {
        old: f"{new}/{old}" if uses[new] > 1 and new != old else new for old, new in names.items()
    }
    replaced: dict[str, Any] = {}
    for label in kept:
        new_label = labels.get(label, label)
        if new_label in replaced:
            raise LocatedError(
                f'two players would have the label "{new_label}"; rename one', REPLACE
            )
        replaced[new_label] = changed[label]
    return Replaced(
        replaced,
        {labels.get(label, label): levels[label] for label in levels if label not in merged},
        labels | {label: labels.get(other, other) for label, other in merged.items()},
    )


def _merged(players: Mapping[str, Any], new_models: Container[str]) -> dict[str, str]:
    """Return the label of the equal player that each redundant player is merged with.

    A player with a replaced model is redundant if it equals a player that keeps its model, or an
    earlier player.
    """
    merged: dict[str, str] = {}
    for label in players:
        equal = [other for other in players if players[other] == players[label]]
        unchanged = [other for other in equal if other not in new_models]
        first = (unchanged or equal)[0]
        if label in new_models and label != first:
            merged[label] = first
    return merged


def model_of(entry: object) -> str | None:
    """Return the model of a player; None if the player is not a language model."""
    form = entry.form if isinstance(entry, RosterEntry) else entry
    if isinstance(form, ModelSeat):
        return form.model
    model = form.get("model") if isinstance(form, Mapping) else None
    return canonical(model) if isinstance(model, str) else None


def _with_model(entry: Any, model: str | None) -> Any:
    """Return a player's entry with another model, or unchanged if the model is None."""
    return entry if model is None else {**_written(entry), "model": model}


def _written(entry: Any) -> Any:
    return entry.written() if isinstance(entry, RosterEntry | ModelSeat) else entry


def _checked(replacements: object) -> dict[str, str]:
    """Return the new model string by old name; raise an error if one is not a model string."""
    if not isinstance(replacements, Mapping):
        raise LocatedError(
            f"{shown(replacements)} is not a mapping of models; write, for example, "
            "{gpt-4o: openai/gpt-5-mini}",
            REPLACE,
        )
    for old, new in replacements.items():
        if not isinstance(new, str):
            raise LocatedError(f"{shown(new)} is not a model string", REPLACE, str(old))
        try:
            ModelName.parse(new)
        except (LookupError, ValueError) as error:
            raise LocatedError(str(error), REPLACE, str(old)) from None
    return {str(old): canonical(new) for old, new in replacements.items()}


def _new_models(models: Mapping[str, str], replacements: Mapping[str, str]) -> dict[str, str]:
    """Return the new model of each replaced player, by label."""
    new_models: dict[str, str] = {}
    matched: dict[str, str] = {}
    for old, new in replacements.items():
        labels = [label for label, model in models.items() if is_named(model, old)]
        for label in labels or [label for label in models if label == old]:
            if label in matched:
                raise LocatedError(
                    f'"{matched[label]}" and "{old}" both replace the model of {label}; remove one',
                    REPLACE,
                )
            matched[label] = old
            new_models[label] = new
        if old not in matched.values():
            known = ", ".join(dict.fromkeys(map(without_url, models.values()))) or "none"
            raise LocatedError(
                f'"{old}" is neither a model of this study nor the label of a player with a model; '
                f"models of this study: {known}",
                REPLACE,
            )
    return new_models


def is_named(model: str, name: str) -> bool:
    """Return whether a name means a model: it may lack the model's URL and its provider."""
    short = without_url(model)
    return canonical(name) in {model, short, short.partition("/")[2]}


def _short(model: str) -> str:
    """Return the last part of a model's name, without provider and URL.

    >>> _short("openrouter/meta-llama/llama-3.3-70b-instruct"), _short("vllm/x@http://gpu/v1")
    ('llama-3.3-70b-instruct', 'x')
    """
    return without_url(model).rstrip("/").rpartition("/")[2]


def _candidate(label: str, old_levels: Any, new_levels: Any, model: str) -> str:
    """Return the new label of a player, which may also be that of another player."""
    if isinstance(old_levels, Mapping) and new_levels != old_levels:
        base = crossed_label(label, old_levels)
        if base:
            return "/".join([base, *new_levels.values()])
    return _short(model)
