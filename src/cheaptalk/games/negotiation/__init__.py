"""Negotiation over the price of a product."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
