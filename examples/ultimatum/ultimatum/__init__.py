"""An ultimatum game about a sum that only the proposer knows."""

from cheaptalk import rules as ct

BOX = ct.GameBox.of(__name__)
