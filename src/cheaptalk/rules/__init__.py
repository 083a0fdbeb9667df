"""The heart: games that ask and tell, tables where they are played, and replay.

Rules import nothing else of this package and do no input or output.
"""

from cheaptalk.rules.actions import MESSAGE_LIMIT, Action, Message, Money, Whole, explain
from cheaptalk.rules.bounds import COUNT, PERCENT, SHARE
from cheaptalk.rules.box import (
    GameBox,
    Measure,
    Point,
    Quantity,
    Series,
    Strategy,
    StyleFile,
    by_name,
    strategy,
)
from cheaptalk.rules.chance import Chance, Stream
from cheaptalk.rules.empirical_view import (
    EmpiricalView,
    Histogram,
    MeasureTable,
    Radar,
    ScaledMeasure,
)
from cheaptalk.rules.errors import CheaptalkError, RulesError, counted
from cheaptalk.rules.field_docs import field_meanings, field_ranges
from cheaptalk.rules.game import (
    Deal,
    Game,
    Horizon,
    Outcome,
    Seat,
    Secret,
    Value,
    numbered,
    suggest,
)
from cheaptalk.rules.play import (
    Decide,
    ReplayMismatch,
    StrategyError,
    decided,
    give,
    play,
    play_async,
    play_on,
    replay,
)
from cheaptalk.rules.registry import (
    PluginWarning,
    Registry,
    UnknownName,
    game_box,
    game_title,
    games,
    register,
    strategies,
    strategy_named,
    unknown,
)
from cheaptalk.rules.steps import Ask, Event, Forfeited, Play, Step, Tell
from cheaptalk.rules.table import Asked, Given, IllegalAction, Moment, Result, Table

__all__ = [
    "COUNT", "MESSAGE_LIMIT", "PERCENT", "SHARE", "Action", "Ask", "Asked", "Chance",
    "CheaptalkError", "Deal", "Decide", "EmpiricalView", "Event", "Forfeited", "Game", "GameBox",
    "Given", "Histogram", "Horizon", "IllegalAction", "Measure", "MeasureTable", "Message",
    "Moment", "Money", "Outcome", "Play", "PluginWarning", "Point", "Quantity", "Radar", "Registry",
    "ReplayMismatch", "Result", "RulesError", "ScaledMeasure", "Seat", "Secret", "Series", "Step",
    "Strategy",
    "StrategyError", "Stream", "StyleFile", "Table", "Tell", "UnknownName", "Value", "Whole",
    "by_name", "counted", "decided", "explain", "field_meanings", "field_ranges", "game_box",
    "game_title", "games", "give", "numbered", "play", "play_async", "play_on", "register",
    "replay", "strategies", "strategy", "strategy_named", "suggest", "unknown",
]  # fmt: skip
