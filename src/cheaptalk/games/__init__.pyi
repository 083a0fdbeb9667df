"""The games, one package each, with their rules under their own names; loaded on first use."""

from . import (
    bargaining,
    battle_royale,
    chip_trading,
    deal_or_no_deal,
    diners_dilemma,
    divide_the_dollar,
    el_farol_bar,
    extras,
    guess_the_average,
    item_bargaining,
    language,
    negotiation,
    persuasion,
    pirate_game,
    public_goods,
    public_goods_punishment,
    rounds,
    sealed_bid_auction,
    seat_names,
    tactics,
    trust_game,
    ultimatum_game,
)
from .bargaining.rules import Bargaining
from .battle_royale.rules import BattleRoyale
from .chip_trading.rules import ChipTrading
from .deal_or_no_deal.rules import DealOrNoDeal
from .diners_dilemma.rules import DinersDilemma
from .divide_the_dollar.rules import DivideTheDollar
from .el_farol_bar.rules import ElFarolBar
from .guess_the_average.rules import GuessTheAverage
from .item_bargaining.rules import ItemBargaining
from .negotiation.rules import Negotiation
from .persuasion.rules import Persuasion
from .pirate_game.rules import PirateGame
from .public_goods.rules import PublicGoods
from .public_goods_punishment.rules import PublicGoodsPunishment
from .sealed_bid_auction.rules import SealedBidAuction
from .trust_game.rules import TrustGame
from .ultimatum_game.rules import UltimatumGame

__all__ = [
    "Bargaining",
    "BattleRoyale",
    "ChipTrading",
    "DealOrNoDeal",
    "DinersDilemma",
    "DivideTheDollar",
    "ElFarolBar",
    "GuessTheAverage",
    "ItemBargaining",
    "Negotiation",
    "Persuasion",
    "PirateGame",
    "PublicGoods",
    "PublicGoodsPunishment",
    "SealedBidAuction",
    "TrustGame",
    "UltimatumGame",
    "bargaining",
    "battle_royale",
    "chip_trading",
    "deal_or_no_deal",
    "diners_dilemma",
    "divide_the_dollar",
    "el_farol_bar",
    "extras",
    "guess_the_average",
    "item_bargaining",
    "language",
    "negotiation",
    "persuasion",
    "pirate_game",
    "public_goods",
    "public_goods_punishment",
    "rounds",
    "sealed_bid_auction",
    "seat_names",
    "tactics",
    "trust_game",
    "ultimatum_game",
]
