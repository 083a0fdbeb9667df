"""Names in study files and stores from before version 0.1, and the names that replaced them.

An old name in a study file raises an error that states the new name. Old stores are migrated. These
tables will be removed in version 1.0.
"""

from collections.abc import Mapping
from types import MappingProxyType

KEYS = """
deals instances, deals_from instances_from, least min, may_stop can_stop, measure metric, most max,
nothing at_zero, otherwise on_fail, redeals max_replacements, right correct, same same_treatment,
stand_ins substitutes, together fixed_groups, why feedback
"""
RENAMED_KEYS: Mapping[str, str] = MappingProxyType(dict(map(str.split, KEYS.split(","))))
"""New keys of study files by old key."""
RENAMED_POLICIES: Mapping[str, str] = MappingProxyType({"redeal": "replace"})
"""New names of policies for invalid answers by old name."""
RENAMED_PLACEHOLDERS: Mapping[str, str] = MappingProxyType({"{place}": "{seat}", "{most}": "{max}"})
"""New placeholders in participants' texts and metrics by old placeholder."""
RENAMED_PROVIDERS: Mapping[str, str] = MappingProxyType({"guest": "remote"})
"""New prefixes of model strings by old prefix."""
RENAMED_STYLES: Mapping[str, str] = MappingProxyType({"english": "en", "german": "de"})
"""New names of the prompt styles for people by old name."""
RENAMED_COLUMNS: Mapping[str, str] = MappingProxyType(
    {"begun": "started_at", "began_at": "started_at", "finished": "ended_at", "made": "made_at"}
)
"""New names of columns of exported tables and data frames by old name."""
METRICS = """
alice_gain self_gain_alice bargaining negotiation persuasion
bob_gain self_gain_bob bargaining negotiation persuasion
{seat}_gain self_gain_{seat} bargaining negotiation persuasion
gain self_gain
gain winner_gain sealed_bid_auction
gain cumulative_gain
rounds rounds_played bargaining battle_royale item_bargaining negotiation
price price_factor negotiation
offered_price offered_price_factor
alice_share share_alice
cheap cheap_share diners_dilemma
last_round last_round_cheap_share diners_dilemma
last_round last_round_contribution public_goods
demand total_bid_share divide_the_dollar
bid bid_share
received received_share
welfare gain el_farol_bar
accepted approval
living survivors
words total_words deal_or_no_deal
"""
RENAMED_METRICS: tuple[tuple[str, str, frozenset[str]], ...] = tuple(
    (old, new, frozenset(games)) for old, new, *games in map(str.split, METRICS.split("\n")[1:-1])
)
"""Old name, new name and games of metrics; no games for series and for seats' common metrics."""
