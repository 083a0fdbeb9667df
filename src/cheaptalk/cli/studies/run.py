"""The commands that play studies: run, and resume, which goes on with one from the store."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.lookup import (
    find_study,
)
from cheaptalk.cli.shared.options import (
    DEFAULT_STORE,
    PlayerOption,
    RosterOption,
    StoredArgument,
    StoreOption,
    StudyArgument,
    with_options,
)
from cheaptalk.cli.shared.playing import PlayOptions, play_study


@with_options
def run(
    study: StudyArgument,
    store: StoreOption = DEFAULT_STORE,
    player: PlayerOption = None,
    roster: RosterOption = None,
    *,
    options: PlayOptions,
) -> None:
    """Play a study; what the store already holds is not played again."""
    players, rosters = player or (), roster or ()
    play_study(study, find_study(study, store, players, rosters), store, options, players, rosters)


@with_options
def resume(
    study: StoredArgument, store: StoreOption = DEFAULT_STORE, *, options: PlayOptions
) -> None:
    """Go on with a study that was stopped, from what the store holds."""
    play_study(study, ct.studies.stored_study(store, study), store, options)
