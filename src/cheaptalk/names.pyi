"""The names of built-in objects, written by tests/test_names.py with CHEAPTALK_GOLDEN=write."""
# fmt: off

from typing import Literal, TypeAlias

ExportForm: TypeAlias = Literal["chats", "csv", "jsonl", "otree", "parquet", "wide"] | str
GameName: TypeAlias = Literal["bargaining", "battle_royale", "chip_trading", "deal_or_no_deal",
    "diners_dilemma", "divide_the_dollar", "el_farol_bar", "guess_the_average", "item_bargaining",
    "negotiation", "persuasion", "pirate_game", "public_goods", "public_goods_punishment",
    "sealed_bid_auction", "trust_game", "ultimatum_game"] | str
PresetName: TypeAlias = Literal["chip-trading", "chip-trading-human", "deal-or-no-deal",
    "deal-or-no-deal-human", "gama", "gama-appendix-g", "gama-scripted", "gama-settings", "glee",
    "glee-human", "glee-small", "item-bargaining", "item-bargaining-heuristics",
    "item-bargaining-walk", "public-goods-punishment", "quickstart", "self-play", "trust",
    "ultimatum-strategy-method"] | str
RecipeName: TypeAlias = Literal["chips", "gama", "glee", "metagame", "self-play"] | str
RosterName: TypeAlias = Literal["chip-trading", "chip-trading-small", "current", "gama",
    "gama-treatments", "glee", "item-bargaining", "item-bargaining-circles", "self-play"] | str
RubricName: TypeAlias = Literal["claims", "hallucination", "honesty", "promises",
    "theme-collaboration", "theme-colours", "theme-profit"] | str
StrategyName: TypeAlias = Literal["always_recommend", "antisocial", "aspire", "bayesian",
    "best_response", "boulware", "capacity", "conceder", "conceding", "conditional_cooperator",
    "cooperator", "equal_split", "equilibrium", "fair", "fixed", "fixed_demand", "fixed_price",
    "free_rider", "greedy", "grim", "honest", "imitation", "kamenica_gentzkow", "level_k", "liar",
    "linear", "minimax_regret", "muddled", "noisy", "one_for_one", "predictor", "prior_optimal",
    "proportional", "random", "reciprocal", "reinforcement", "sceptical", "shade", "soft",
    "split_the_difference", "strongest", "subgame_perfect", "talker", "textbook", "tough",
    "trusting", "truthful", "walk", "weakest", "zero_intelligence"] | str
