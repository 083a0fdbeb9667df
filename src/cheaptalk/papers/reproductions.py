"""The studies with which a paper's tables and figures are reproduced."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cheaptalk.models.prices import without_url
from cheaptalk.names import RecipeName
from cheaptalk.reports.recipes.findings import recipe_of
from cheaptalk.reports.recipes.parts import RECIPES, PaperStudy
from cheaptalk.rules import CheaptalkError, suggest
from cheaptalk.studies import (
    Study,
    StudySource,
    new_labels,
    parse_study,
    preset,
    study_of,
    with_players,
)
from cheaptalk.studies.replacements import is_named, model_of

MOCK = (
    "A rehearsal with a mock model. Its random moves say nothing about the models that it replaces."
)
AS_PRINTED: Mapping[str, str] = MappingProxyType({})


def paper_names() -> list[str]:
    """Return the names of the recipes that list the studies of a paper."""
    return sorted(name for name, recipe in RECIPES.items() if recipe.studies)


def paper_studies(
    paper: RecipeName,
    rosters: Sequence[str] | None = None,
    replace: Mapping[str, str] = AS_PRINTED,
) -> list[Study]:
    """Return the studies of a paper, each with the paper's models.

    >>> [study.name for study in ct.papers.paper_studies("chips")]
    ['chip-trading', 'chip-trading-human']

    Args:
        paper: the name of the paper's recipe.
        rosters: rosters to use instead of the paper's, as ``NAME_OR_FILE[:LABEL,...]``.
        replace: new models by old model or label; applies where a study has the old one.

    Raises:
        CheaptalkError: there is no such paper, or no study has one of the models to replace.
        StudyError: a roster or a new model cannot play.
    """
    if paper not in paper_names():
        raise CheaptalkError(f"no paper {suggest(paper, paper_names())}")
    studies = [_study(each, rosters) for each in recipe_of(paper).studies]
    for old in replace:
        if not any(_has(study, old) for study in studies):
            models = sorted({model for study in studies for model in models_of(study).values()})
            raise CheaptalkError(f"no study of {paper} has the model {suggest(old, models)}")
    return [with_players(study, replace=_applicable(study, replace)) for study in studies]


def replaced_labels(study: StudySource, replace: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of players with replaced models, by the label before the replacement.

    Args:
        study: a study of :func:`paper_studies` without replacements.
        replace: new models by old model or label; applies where the study has the old one.
    """
    return new_labels(study, _applicable(study_of(study), replace))


def _applicable(study: Study, replace: Mapping[str, str]) -> dict[str, str]:
    return {old: new for old, new in replace.items() if _has(study, old)}


def _study(listed: PaperStudy, rosters: Sequence[str] | None) -> Study:
    chosen = listed.rosters if rosters is None or not listed.rosters else rosters
    study = preset(listed.preset)
    if listed.changes:
        study = parse_study(study.written() | dict(listed.changes), listed.preset)
    return with_players(study, rosters=chosen) if chosen else study


def models_of(study: StudySource) -> dict[str, str]:
    """Return the model of each language model among a study's players, by label."""
    players = study_of(study).players
    return {label: model for label, entry in players.items() if (model := model_of(entry))}


def _has(study: Study, old: str) -> bool:
    models = models_of(study)
    return old in models or any(is_named(model, old) for model in models.values())


def redirected(study: StudySource, url: str) -> Study:
    """Return a study, named ``NAME-mock``, whose models are answered by a mock server.

    Args:
        url: the server's base URL.
    """
    study = study_of(study)
    data = study.written()
    data["name"] = f"{study.name}-mock"
    data["description"] = MOCK
    for label, model in models_of(study).items():
        data["players"][label]["model"] = f"{without_url(model)}@{url}"
    return parse_study(data, data["name"])
