"""The ``run`` and ``resume`` commands, which run studies."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import find_study
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    PlayerOption,
    RosterOption,
    StoredArgument,
    StoreOption,
    StudyArgument,
    with_options,
)
from cheaptalk.cli.shared.play_options import PlayOptions
from cheaptalk.cli.shared.playing import play_study


@with_options
def run(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    *,
    options: PlayOptions,
) -> None:
    """Run a study; matches already in the store are reused."""
    players, rosters = player or (), roster or ()
    play_study(study, find_study(study, store, players, rosters), store, options, players, rosters)


@with_options
def resume(
    study: StoredArgument, store: StoreOption = DEFAULT_STORE, *, options: PlayOptions
) -> None:
    """Resume an interrupted study from the store."""
    play_study(study, ct.studies.stored_study(store, study), store, options)
