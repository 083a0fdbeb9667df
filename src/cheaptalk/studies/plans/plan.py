"""The plan of a study: every match it consists of, before anything runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from cheaptalk.records import Store, StoreError, StudySummary
from cheaptalk.records.identity import written_deal_digest
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import Chance, CheaptalkError, counted
from cheaptalk.rules.display import brief, html_table
from cheaptalk.studies.factors import CrossedEntry, crossed_entries
from cheaptalk.studies.plans.matches import (
    Block,
    Configuration,
    Dealt,
    Group,
    NumberedDeals,
    PlannedMatch,
    PlannedMatches,
    match_of,
)
from cheaptalk.studies.plans.seating import Seated, seat_everyone
from cheaptalk.studies.presets import study_of
from cheaptalk.studies.study import LARGEST, Pairing, Sample, Study, StudyError, parse_study

MOST_COMPARED = 5_000_000
"""Matches of one configuration that stands twice: each is held in memory to be found again."""
SHOWN = 20
"""Seatings of a plan that a notebook shows."""


@dataclass
class Plan:
    """All matches of a study.

    Attributes:
        study: the study.
        matches: every match, in order; each is made when it is asked for.
        idle: players who can sit at no table of some game, as (label, game).
        unseated: players whom no pairing seats anywhere, by label.
        whole: whether these are all matches of the study. Only then does a run set others aside.
        within: the plan of the whole study, where this is a part of it that was chosen for a run.
    """

    study: Study
    matches: PlannedMatches
    idle: list[tuple[str, str]] = field(default_factory=list)
    unseated: list[str] = field(default_factory=list)
    whole: bool = False
    within: "Plan | None" = None

    @classmethod
    def of(cls, study: Study, matches: Sequence[PlannedMatch]) -> "Plan":
        """Some matches of a study; running them sets no others aside."""
        return cls(study, PlannedMatches(more=matches))

    def __repr__(self) -> str:
        return brief(self, f"{self.study.name}, {counted(len(self.matches), 'match')}")

    def _repr_html_(self) -> str:
        rows = [
            (game, " / ".join(seating), f"{count:,}")
            for (game, seating), count in self.counts().items()
        ]
        title = f"{self.study.name}: {counted(len(self.matches), 'match')}"
        notes = [*self.crossings, *self.absences]
        if len(rows) > SHOWN:
            notes.append(f"and {counted(len(rows) - SHOWN, 'more seating')}")
        return html_table(title, ["game", "seating", "matches"], rows[:SHOWN], notes)

    @property
    def crossed(self) -> list[CrossedEntry]:
        """The entries whose players have factors."""
        return crossed_entries(self.study.factors)

    @property
    def crossings(self) -> list[str]:
        """The factors of players and their levels, a line for each crossed entry."""
        return [str(entry) for entry in self.crossed]

    @property
    def absences(self) -> list[str]:
        """Who does not play everywhere, a sentence each."""
        idle = [f"{label} does not play {game}" for label, game in self.idle]
        return idle + [f"{label} plays nowhere: no pairing seats it" for label in self.unseated]

    def counts(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """Matches by game and seating."""
        found: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for group in self.matches.groups():
            labels = tuple(player.label for player in group.seating)
            found[group.configuration.game.name, labels] += group.matches
        return found

    def configurations(self) -> dict[str, int]:
        """Configurations of each game."""
        used = {one.digest: one for one in self.matches.configurations()}
        return dict(Counter(one.game.name for one in used.values()))

    def players(self) -> dict[str, Seated]:
        """Everyone who sits down, by digest."""
        groups = self.matches.first_groups()
        return {player.digest: player for group in groups for player in group.seating}

    def seats(self) -> dict[tuple[str, Seated], Group]:
        """Everyone who sits down at a game, by its name, with their first matches."""
        found: dict[tuple[str, Seated], Group] = {}
        for group in self.matches.first_groups():
            for player in group.seating:
                found.setdefault((group.configuration.game.name, player), group)
        return found


DealtConfiguration: TypeAlias = tuple[Configuration, Sequence[Dealt], Pairing | Sample]
"""A configuration with its deals and the pairing of those who meet on them."""


def plan(
    study: Study | Path | str, tables: Sequence[tuple[Configuration, Sequence[Dealt]]] = ()
) -> Plan:
    """Lay out all matches of a study.

    Args:
        study: the study, its file or a preset's name.
        tables: configurations with their deals, for a study that takes them from another.

    Raises:
        StudyError: nobody can play a game, or a listed player is not on the roster.
    """
    study = study_of(study)
    if study.deals_from is None:
        dealt = _tables(study)
    else:
        dealt = [(*table, study.pairing) for table in tables]
    seated = seat_everyone(study, [(one.game, pairing) for one, _, pairing in dealt])
    blocks = [
        Block(configuration, deals, rows, study.repeats)
        for (configuration, deals, _), rows in zip(dealt, seated.rows, strict=True)
    ]
    _not_too_many(sum(block.possible for block in blocks))
    if isinstance(study.pairing, Sample):
        blocks = _sampled(study.pairing.sample, blocks, Chance(f"{study.seed}").apart("sample"))
    matches = PlannedMatches(list(_distinct(blocks)))
    return Plan(study, matches, seated.idle, seated.unseated, whole=True)


def _not_too_many(matches: int) -> None:
    """Refuse more matches than anybody can play."""
    if matches > LARGEST:
        raise StudyError(
            f"deals: {matches:,} matches are possible, more than {LARGEST:,}; "
            "play fewer deals or repeats, or several studies"
        )


def _tables(study: Study) -> list[DealtConfiguration]:
    dealt: list[DealtConfiguration] = []
    listed = [(grid, grid.configurations()) for grid in study.games]
    _not_too_many(sum(len(games) * (grid.deals or study.deals) for grid, games in listed))
    for grid, games in listed:
        for game in games:
            configuration = Configuration(game)
            place = f"{study.seed}/{configuration.digest}"
            deals = NumberedDeals(place, grid.deals or study.deals)
            dealt.append((configuration, deals, grid.pairing or study.pairing))
    return dealt


def _distinct(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks without the matches that an earlier block of the same configuration has."""
    earlier: dict[str, list[Block]] = {}
    for block in blocks:
        same = earlier.setdefault(block.configuration.digest, [])
        if same:
            _comparable([*same, block])
            known = {one.match(place).id for one in same for place in one.places()}
            yield block.only(
                place for place in block.places() if block.match(place).id not in known
            )
        else:
            yield block
        same.append(block)


def _comparable(blocks: Sequence[Block]) -> None:
    """Refuse a configuration that stands twice with more matches than can be told apart."""
    if sum(map(len, blocks)) > MOST_COMPARED:
        game = blocks[0].configuration.game
        raise StudyError(
            f"games: a configuration of {game.name} stands twice, with more than "
            f"{MOST_COMPARED:,} matches; write it once"
        )


def _sampled(total: int, blocks: Sequence[Block], chance: Chance) -> list[Block]:
    """Matches drawn without replacement, as evenly over configurations as the numbers allow."""
    wanted = _spread(total, [block.possible for block in blocks], chance)
    drawn = []
    for block, count in zip(blocks, wanted, strict=True):
        if count < block.possible:
            block = block.sample(count, partial(chance, "seatings", block.configuration.digest))
        drawn.append(block)
    return drawn


def _spread(total: int, rooms: Sequence[int], chance: Chance) -> list[int]:
    """Spread a number over rooms of limited size as evenly as can be."""
    if total > sum(rooms):
        raise StudyError(
            f"pairing.sample: {counted(total, 'match')} asked, only {sum(rooms):,} are possible"
        )
    taken = [0] * len(rooms)
    open_rooms = [place for place, room in enumerate(rooms) if room]
    while total:
        share, rest = divmod(total, len(open_rooms))
        lucky = set(chance("rest", total).shuffled(open_rooms)[:rest])
        for place in open_rooms:
            more = min(rooms[place] - taken[place], share + (place in lucky))
            taken[place] += more
            total -= more
        open_rooms = [place for place in open_rooms if taken[place] < rooms[place]]
    return taken


def redealt(planned: Plan, store: Store) -> list[PlannedMatch]:
    """The matches that replace played ones on fresh deals and are not in the plan yet.

    A fresh deal is drawn with the first one's seed and a number behind it, so that it is the same
    however often, and in whatever order, a study is run; all who are dealt afresh in place of one
    deal meet on the same fresh one.
    """
    unanswered = planned.study.unanswered
    if not unanswered.redeal:
        return []
    known = {match.id for match in planned.matches.more}
    found: dict[str, PlannedMatch] = {}
    latest: Sequence[PlannedMatch] = planned.matches
    while latest:
        latest = [
            match_of(one.configuration, one.dealt.afresh(), one.seating, one.repeat)
            for one, kinds in _kinds(latest, store)
            if one.dealt.redeals < unanswered.redeals and unanswered.of(kinds) == "redeal"
        ]
        found |= {match.id: match for match in latest if match.id not in known}
    return list(found.values())


def _kinds(
    matches: Iterable[PlannedMatch], store: Store
) -> Iterator[tuple[PlannedMatch, dict[str, dict[str, int]]]]:
    """Matches with the kinds of the answers that the store has of them."""
    for some in chunks(matches):
        kinds = store.kinds([match.id for match in some])
        yield from ((match, kinds.get(match.id, {})) for match in some)


def lay_out(study: Study, store: Store | None) -> Plan:
    """The plan of a study; one that takes its deals from another finds them in the store.

    Raises:
        StudyError: it cannot be laid out.
        OtherVersion: an earlier match was dealt under other rules than those installed.
    """
    if study.deals_from is None:
        planned = plan(study)
        if store is not None:
            planned.matches.extend(redealt(planned, store))
        return planned
    if store is None:
        raise StudyError(
            f'deals_from: there is no store to take "{study.deals_from}" from; name it with --store'
        )
    tables = list(_tables_of(store, study.deals_from))
    if not tables:
        raise StudyError(f'deals_from: "{study.deals_from}" has no finished match in {store.name}')
    return plan(study, tables)


def _tables_of(store: Store, name: str) -> Iterator[tuple[Configuration, list[Dealt]]]:
    """The configurations of a study with the deals and turn orders it was played on."""
    try:
        store.study(name)
    except StoreError as error:
        raise StudyError(f"deals_from: {error}") from None
    found: dict[str, tuple[Configuration, dict[tuple[str, str], Dealt]]] = {}
    for record in store.records(name, bodies=True):
        if record.status not in SETTLED:
            continue
        configuration = Configuration(record.rules)
        _, deals = found.setdefault(configuration.digest, (configuration, {}))
        deal = record.table().deal
        name = written_deal_digest(deal.model_dump(mode="json"))
        dealt = Dealt(f"{record.deal_key}:{name}", record.body["seed"], deal)
        deals.setdefault((dealt.key, dealt.seed), dealt)
    for configuration, deals in found.values():
        yield configuration, list(deals.values())


def planned_count(summary: StudySummary, store: Store) -> int | None:
    """How many matches a study in the store consists of; None where that cannot be said.

    A run counts them; a study that only earlier versions ran is laid out again.
    """
    if summary.planned is not None or "players" not in summary.spec:
        return summary.planned
    try:
        return len(lay_out(parse_study(summary.spec, summary.name), store).matches)
    except CheaptalkError:
        return None
