"""Matches on fresh deals, in place of such as a study's policy wants to see played again."""

from cheaptalk.records import Store
from cheaptalk.studies.planning import Plan, PlannedMatch, match_of


def redealt(laid: Plan, store: Store) -> list[PlannedMatch]:
    """The matches that replace played ones on fresh deals and are not in the plan yet.

    A fresh deal is drawn with the first one's seed and a number behind it, so that it is the same
    however often, and in whatever order, a study is run; all who are dealt afresh in place of one
    deal meet on the same fresh one.
    """
    unanswered = laid.study.unanswered
    if not unanswered.redeal:
        return []
    planned = {match.id for match in laid.matches}
    found: list[PlannedMatch] = []
    latest = laid.matches
    while latest:
        kinds = store.kinds(match.id for match in latest)
        latest = [
            match_of(one.configuration, one.dealt.afresh(), one.seating, one.repeat)
            for one in latest
            if one.dealt.redeals < unanswered.redeals
            and unanswered.of(kinds.get(one.id, {})) == "redeal"
        ]
        found += [match for match in latest if match.id not in planned]
    return list({match.id: match for match in found}.values())
