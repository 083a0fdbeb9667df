"""A call for tenders: firms with private costs bid at once."""

import cheaptalk as ct

SPEC = ct.GameSpec.of(__name__)
