"""A game of one offer about a sum that only the proposer knows."""

import cheaptalk as ct

SPEC = ct.GameSpec.of(__name__)
