"""A small study of GLEE's games between scripts."""

from typing import Any

import yaml

FLASH = "gemini-1.5-flash"
"""The paper's reference player; in this study it is a script."""
STUDY: dict[str, Any] = yaml.safe_load("""
name: small-glee
seed: 3
instances: 2
games:
  - game: bargaining
    grid:
      discounts: [[0.9, 0.9], [0.8, 0.9], [0.9, 1]]
      horizon: [12, {rounds: 99, hidden: true}]
      complete_information: [true, false]
      messages: [true, false]
  - game: negotiation
    grid:
      seller_factor: [0.8, 1]
      buyer_factor: [1, 1.5]
      horizon: [1, 10]
      complete_information: [true, false]
  - game: persuasion
    grid: {value: [1.25, 2, 3], signal: [binary, text], myopic: [false, true]}
players:
  gemini-1.5-flash:
    strategies: {bargaining: random, negotiation: zero_intelligence, persuasion: random}
  fair:
    strategies:
      bargaining: equal_split
      negotiation: split_the_difference
      persuasion: {alice: honest, bob: trusting}
  tough:
    strategies:
      bargaining: boulware
      negotiation: boulware
      persuasion: {alice: always_recommend, bob: sceptical}
""")
