"""Stores of studies and matches, the ledger of model calls, exports and imports.

>>> study = ct.Study(name="s", games=[{"game": "negotiation"}], players={"luck": "random"})
>>> _ = ct.run(study, "s.sqlite")
>>> with ct.Store.open("s.sqlite") as store:
...     [ct.records.transcript(record) for record in ct.records.find_matches(store, "s")]
[<Transcript: 6 lines>]
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
