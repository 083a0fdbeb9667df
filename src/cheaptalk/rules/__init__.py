"""Games, matches in progress, and replay of recorded matches, without any input or output.

>>> list(ct.rules.games())[:3]
['bargaining', 'battle_royale', 'chip_trading']
"""

from cheaptalk.field_docs import field_meanings, field_ranges
from cheaptalk.rules.actions import (
    MESSAGE_LIMIT,
    Action,
    Message,
    Money,
    Schema,
    Whole,
    alternative,
    between,
    explain,
)
from cheaptalk.rules.arguments import WrongArgument, check_functions
from cheaptalk.rules.assessment import Assessment, Demand, Missed, Mistakes, Statement
from cheaptalk.rules.bounds import COUNT, PERCENT, SHARE
from cheaptalk.rules.chance import Chance, Stream
from cheaptalk.rules.chat import ChatLine, ChatTurn, HeardLine, observed, talker
from cheaptalk.rules.deciders import decider
from cheaptalk.rules.errors import (
    CheaptalkError,
    RulesError,
    UnknownName,
    WrongValue,
    counted,
    suggest,
    unknown,
)
from cheaptalk.rules.game import (
    Actor,
    Chat,
    Game,
    Horizon,
    HorizonLike,
    Instance,
    OptionalHorizon,
    Outcome,
    Secret,
    Value,
    numbered_seats,
)
from cheaptalk.rules.game_spec import (
    EmpiricalView,
    GameSpec,
    Histogram,
    Metric,
    MetricTable,
    Point,
    Quantity,
    Radar,
    ScaledMetric,
    Series,
    Strategy,
    StyleFile,
    by_name,
    strategy,
)
from cheaptalk.rules.play import (
    ReplayMismatch,
    StrategyError,
    ask_strategy,
    play,
    play_async,
    replay,
    replay_answer,
    replay_chat,
)
from cheaptalk.rules.registry import (
    GameLike,
    PluginWarning,
    Registry,
    SpecLike,
    game_title,
    games,
    get_game,
    register,
    strategies,
    strategy_named,
)
from cheaptalk.rules.steps import Ask, Event, Forfeited, Moment, Play, Step, Tell
from cheaptalk.rules.table import (
    Decide,
    DecisionRequest,
    Given,
    IllegalAction,
    Result,
    Table,
)

__all__ = ["COUNT", "MESSAGE_LIMIT", "PERCENT", "SHARE", "Action", "Actor", "Ask", "Assessment"]
__all__ += [
    "Chance",
    "Chat",
    "ChatLine",
    "ChatTurn",
    "CheaptalkError",
    "Decide",
    "DecisionRequest",
    "Demand",
    "EmpiricalView",
]
__all__ += ["Event", "Forfeited", "Game", "GameLike", "GameSpec", "Given", "Histogram", "Horizon"]
__all__ += [
    "HeardLine",
    "HorizonLike",
    "IllegalAction",
    "Instance",
    "Message",
    "Metric",
    "MetricTable",
]
__all__ += ["Missed", "Mistakes", "Moment", "Money", "OptionalHorizon", "Outcome", "Play"]
__all__ += ["PluginWarning", "Point", "Quantity", "Radar", "Registry", "ReplayMismatch", "Result"]
__all__ += ["RulesError", "ScaledMetric", "Schema", "Secret", "Series", "SpecLike", "Statement"]
__all__ += ["Step", "Strategy", "StrategyError", "Stream", "StyleFile", "Table", "Tell"]
__all__ += ["UnknownName", "Value", "Whole", "WrongArgument", "WrongValue", "alternative"]
__all__ += ["ask_strategy", "between", "by_name", "counted", "decider", "explain"]
__all__ += ["field_meanings", "field_ranges", "game_title", "games", "get_game", "numbered_seats"]
__all__ += ["observed", "replay_chat", "talker"]
__all__ += ["play", "play_async", "register", "replay", "replay_answer", "strategies", "strategy"]
__all__ += ["strategy_named", "suggest", "unknown"]

check_functions(globals())
