"""The command that lists the batches submitted to providers: batches."""

from __future__ import annotations

import cheaptalk as ct
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption
from cheaptalk.cli.shared.printing import out, print_batches, print_json


def batches(store: StoreOption = DEFAULT_STORE, json: JsonOption = False) -> None:
    """List the batches that were submitted to providers, and what is in them."""
    with ct.Store.open(store) as opened:
        found = ct.records.all_batches(opened)
    if json:
        print_json([one._asdict() for one in found])
        return
    if not found:
        out.print("no batch was submitted")
        return
    print_batches(found)
