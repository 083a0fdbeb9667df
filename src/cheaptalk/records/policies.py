"""What becomes of matches in which a player finally gave no valid answer."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_serializer

from cheaptalk.rules import Value, counted

Policy: TypeAlias = Literal["keep", "drop", "redeal"]
"""``keep``: the game's own rule for a seat that fails to answer says what the match is worth.
``drop``: the match is recorded and counted, and no part of any score. ``redeal``: dropped, and
played once more on a fresh deal."""


class Unanswered(Value):
    """A study's policy for each kind of answer that is none.

    A match with answers of several kinds follows the strictest policy: ``redeal`` before ``drop``
    before ``keep``.

    Attributes:
        redeals: how often one match is played on a fresh deal before its last one is dropped too.

    >>> policies = Unanswered(refused="redeal", truncated="drop")
    >>> policies.of({"alice": {"ok": 3, "truncated": 1}, "bob": {"ok": 4}})
    'drop'
    """

    illegal: Policy = "keep"
    unparsable: Policy = "keep"
    truncated: Policy = "keep"
    refused: Policy = "keep"
    filtered: Policy = "keep"
    timed_out: Policy = "keep"
    redeals: Annotated[int, Field(ge=1, le=20)] = 3

    @model_serializer
    def written(self) -> dict[str, Any]:
        """What is set, as it is written in a study file."""
        return {name: getattr(self, name) for name in type(self).model_fields
                if name in self.model_fields_set}  # fmt: skip

    @property
    def by_kind(self) -> dict[str, Policy]:
        """The policy for each kind."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "redeals"}

    @property
    def redeal(self) -> bool:
        """Whether any match may be played on a fresh deal."""
        return "redeal" in self.by_kind.values()

    @property
    def line(self) -> str:
        """The policy in one line.

        >>> Unanswered(refused="redeal", timed_out="drop", redeals=2).line
        'refused redealt (at most 2 times), timed out dropped, all others kept'
        """
        odd = {kind: policy for kind, policy in self.by_kind.items() if policy != "keep"}
        most = f" (at most {'once' if self.redeals == 1 else counted(self.redeals, 'time')})"
        done = {"drop": "dropped", "redeal": f"redealt{most}"}
        parts = [f"{kind.replace('_', ' ')} {done[policy]}" for kind, policy in odd.items()]
        return ", ".join([*parts, "all others kept" if odd else "all kept"])

    def of(self, kinds: Mapping[str, Mapping[str, int]]) -> Policy:
        """The policy for a match.

        Args:
            kinds: how many answers were of each kind, by place.
        """
        given = {kind for counts in kinds.values() for kind, count in counts.items() if count}
        policies = {policy for kind, policy in self.by_kind.items() if kind in given}
        return next((one for one in ("redeal", "drop") if one in policies), "keep")

    def why_dropped(self, kinds: Mapping[str, Mapping[str, int]]) -> str | None:
        """Why a match is no part of any measure: who gave which answers; None where it is kept.

        >>> Unanswered(refused="drop").why_dropped({"alice": {"ok": 3}, "bob": {"refused": 1}})
        'bob refused'
        """
        found = [
            f"{place} {kind.replace('_', ' ')}"
            for place, counts in kinds.items()
            for kind, count in counts.items()
            if count and self.by_kind.get(kind, "keep") != "keep"
        ]
        return ", ".join(found) or None


def policies_of(spec: Mapping[str, Any]) -> Unanswered:
    """The policies of a study as the store keeps it."""
    return Unanswered.model_validate(spec.get("unanswered") or {})
