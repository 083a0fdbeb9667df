"""The ``model batches`` command, which lists the batches submitted to providers."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import out, print_batches, print_json


def batches(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """List the batches submitted to model providers."""
    with ct.Store.open(store) as opened:
        submitted = ct.records.all_batches(opened)
    if json:
        print_json([batch._asdict() for batch in submitted])
    elif submitted:
        print_batches(submitted)
    else:
        out.print("no batches submitted")
