"""Dividing a sum of gold by bids that must not exceed it together."""

from cheaptalk.rules import GameBox

BOX = GameBox.of(__name__)
