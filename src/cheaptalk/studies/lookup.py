"""Studies in stores, and studies with more players."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cheaptalk.players.seats import PlayerLike
from cheaptalk.records import Store
from cheaptalk.records.store.lookup import StoreLike, StudyLike, reads
from cheaptalk.studies.presets import StudySource, study_of
from cheaptalk.studies.replacements import replace_models
from cheaptalk.studies.study import Study, StudyError, parse_study

NO_MORE: Mapping[str, PlayerLike] = MappingProxyType({})
UNCHANGED: Mapping[str, str] = MappingProxyType({})


@reads
def stored_study(store: StoreLike, study: StudyLike) -> Study:
    """Load a study from a store.

    Raises:
        StoreError: the store has no such study.
        StudyError: the study was imported, or is invalid in this version.
    """
    assert isinstance(store, Store)
    assert isinstance(study, str)
    spec = store.study(study, counted=False).spec
    if "players" not in spec:
        raise StudyError(f'"{study}" was imported and cannot be run')
    return parse_study(spec, study)


def with_players(
    study: StudySource,
    players: Mapping[str, PlayerLike] = NO_MORE,
    rosters: Sequence[str] = (),
    replace: Mapping[str, str] = UNCHANGED,
) -> Study:
    """Return a study with players added or, if their labels exist, replaced.

    Args:
        study: the study, its file or a preset's name.
        rosters: rosters with players to add, as ``NAME_OR_FILE`` or ``NAME_OR_FILE:LABEL,...``.
        replace: new models by old model or label, as in a study file.

    Raises:
        StudyError: an entry is invalid or cannot play.
    """
    study = study_of(study)
    data = study.written() | {"roster": list(rosters), "replace": dict(replace)}
    data["players"] |= players
    factors = {label: levels for label, levels in study.factors.items() if label not in players}
    return Study.model_validate(data | {"factors": factors})


def new_labels(study: StudySource, replace: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that players get if :func:`with_players` replaces their models, by old one.

    Several players get the same label if they become the same player.
    """
    if not replace:
        return {}
    original = study_of(study)
    return replace_models(original.players, original.factors, replace).labels
