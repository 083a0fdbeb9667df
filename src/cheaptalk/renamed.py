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
