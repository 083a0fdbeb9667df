"""Games, matches in progress, and replay of recorded matches, without any input or output."""

from cheaptalk.rules.actions import MESSAGE_LIMIT, Action, Message, Money, Whole, explain
from cheaptalk.rules.arguments import WrongArgument, check_functions
from cheaptalk.rules.assessment import Assessment, Demand, Missed, Mistakes, Statement
from cheaptalk.rules.bounds import COUNT, PERCENT, SHARE
from cheaptalk.rules.chance import Chance, Stream
from cheaptalk.rules.empirical_view import (
    EmpiricalView,
    Histogram,
    MetricTable,
    Radar,
    ScaledMetric,
)
from cheaptalk.rules.errors import CheaptalkError, RulesError, counted
from cheaptalk.rules.field_docs import field_meanings, field_ranges
from cheaptalk.rules.game import (
    Actor,
    Game,
    Horizon,
    HorizonLike,
    Instance,
    Outcome,
    Secret,
    Value,
    numbered,
    suggest,
)
from cheaptalk.rules.game_spec import (
    GameSpec,
    Metric,
    Point,
    Quantity,
    Series,
    Strategy,
    StyleFile,
    by_name,
    strategy,
)
from cheaptalk.rules.play import (
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
    GameLike,
    PluginWarning,
    Registry,
    SpecLike,
    UnknownName,
    game_title,
    games,
    get_game,
    register,
    strategies,
    strategy_named,
    unknown,
)
from cheaptalk.rules.steps import Ask, Event, Forfeited, Play, Step, Tell
from cheaptalk.rules.table import (
    Decide,
    DecisionRequest,
    Given,
    IllegalAction,
    Moment,
    Result,
    Table,
)

__all__ = ["COUNT", "MESSAGE_LIMIT", "PERCENT", "SHARE", "Action", "Actor", "Ask", "Assessment"]
__all__ += ["Chance", "CheaptalkError", "Decide", "DecisionRequest", "Demand", "EmpiricalView"]
__all__ += ["Event", "Forfeited", "Game", "GameLike", "GameSpec", "Given", "Histogram", "Horizon"]
__all__ += ["HorizonLike", "IllegalAction", "Instance", "Message", "Metric", "MetricTable"]
__all__ += ["Missed", "Mistakes", "Moment", "Money", "Outcome", "Play", "PluginWarning", "Point"]
__all__ += ["Quantity", "Radar", "Registry", "ReplayMismatch", "Result", "RulesError"]
__all__ += ["ScaledMetric", "Secret", "Series", "SpecLike", "Statement", "Step", "Strategy"]
__all__ += ["StrategyError", "Stream", "StyleFile", "Table", "Tell", "UnknownName", "Value"]
__all__ += ["Whole", "WrongArgument", "by_name", "counted", "decided", "explain", "field_meanings"]
__all__ += ["field_ranges", "game_title", "games", "get_game", "give", "numbered", "play"]
__all__ += ["play_async", "play_on", "register", "replay", "strategies", "strategy"]
__all__ += ["strategy_named", "suggest", "unknown"]

check_functions(globals())
