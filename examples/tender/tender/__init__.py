"""A call for tenders: firms with private costs bid at once."""

import cheaptalk as ct

BOX = ct.GameBox.of(__name__)
