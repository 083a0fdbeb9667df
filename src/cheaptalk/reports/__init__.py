"""Reports on studies as self-contained pages, which require the extra ``[analysis]``.

>>> _ = ct.run("examples/studies/haggling.yaml", "s.sqlite")
>>> ct.reports.findings("s.sqlite", "haggling", "metagame", draws=100)
<Findings: metagame from haggling: 2 tables, 8 lacking>
"""

from cheaptalk.public import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
