"""Names in study files and stores from before version 0.1, and the names that replaced them.

An old name in a study file raises an error that gives the new one. An old store is migrated. These
tables are removed in version 1.0.
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
"""The new key by the old key."""
RENAMED_POLICIES: Mapping[str, str] = MappingProxyType({"redeal": "replace"})
"""The new name of a policy for invalid answers by the old name."""
RENAMED_PROVIDERS: Mapping[str, str] = MappingProxyType({"guest": "remote"})
"""The new prefix of a model string by the old prefix."""
