"""A game of one offer about a sum that only the proposer knows."""

import cheaptalk as ct

BOX = ct.GameBox.of(__name__)
