"""Names in study files and stores from before version 0.1, and the names that replaced them.

An old name in a study file raises an error that states the new name. Old stores are migrated. These
tables will be removed in version 1.0.
"""

from collections.abc import Mapping
from types import MappingProxyType

RENAMED_KEYS: Mapping[str, str] = MappingProxyType({
    "deals": "instances",
    "deals_from": "instances_from",
    "measure": "metric",
    "otherwise": "on_fail",
    "redeals": "max_replacements",
    "right": "correct",
    "stand_ins": "substitutes",
    "why": "feedback",
})  # fmt: skip
"""New keys of study files by old key."""
RENAMED_POLICIES: Mapping[str, str] = MappingProxyType({"redeal": "replace"})
"""New names of policies for invalid answers by old name."""
RENAMED_PROVIDERS: Mapping[str, str] = MappingProxyType({"guest": "remote"})
"""New prefixes of model strings by old prefix."""
