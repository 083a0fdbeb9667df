"""The plan of a study: all its matches, before it runs, and how they differ from stored matches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from cheaptalk.printing.printout import Printed, Printout
from cheaptalk.records import Store, StoreError, StudySummary
from cheaptalk.records.cache import differences
from cheaptalk.records.identity import written_instance_digest
from cheaptalk.records.record import SETTLED
from cheaptalk.records.store.lookup import StoreLike, reads
from cheaptalk.records.store.reader import chunks
from cheaptalk.rules import Chance, CheaptalkError, counted
from cheaptalk.rules.arguments import describe_type
from cheaptalk.rules.display import brief
from cheaptalk.studies.factors import CrossedEntry, crossed_entries
from cheaptalk.studies.plans.designs import design_of
from cheaptalk.studies.plans.matches import (
    Block,
    Configuration,
    Group,
    NumberedInstances,
    PlannedInstance,
    PlannedMatch,
    PlannedMatches,
    match_of,
)
from cheaptalk.studies.plans.seating import SeatedPlayer, seat_everyone
from cheaptalk.studies.presets import StudySource, study_of
from cheaptalk.studies.study import LARGEST, Pairing, Sample, Study, StudyError, parse_study

MOST_COMPARED = 5_000_000
"""Maximum matches of a configuration that is listed twice; their ids are held in memory."""
SHOWN = 20
"""Maximum number of seatings shown in a notebook."""


@dataclass
class Plan(Printed):
    """The planned matches of a study or of a part of it.

    Attributes:
        matches: all matches in order, created on demand.
        idle: players that cannot play a game, as (label, game).
        unseated: labels of players that no pairing includes.
        whole: whether the plan has all matches of the study, so a run supersedes other matches.
        within: the plan of the full study, if this plan is a part of it.
    """

    study: Study
    matches: PlannedMatches
    idle: list[tuple[str, str]] = field(default_factory=list)
    unseated: list[str] = field(default_factory=list)
    whole: bool = False
    within: "Plan | None" = None

    @classmethod
    def of(cls, study: Study, matches: Sequence[PlannedMatch]) -> "Plan":
        """Create a plan of selected matches, which supersedes no other matches when it runs."""
        return cls(study, PlannedMatches(extra=matches))

    def printout(self) -> Printout:
        rows = [
            (game, " / ".join(seating), count) for (game, seating), count in self.counts().items()
        ]
        title = f"{self.study.name}, {counted(len(self.matches), 'match')}"
        return Printout(title, ["game", "players", "matches"], rows, self.crossings + self.absences)

    def __repr__(self) -> str:  # without counting the matches of each pairing
        return brief(self, f"{self.study.name}, {counted(len(self.matches), 'match')}")

    @property
    def crossed(self) -> list[CrossedEntry]:
        """Entries of the study that generate players by crossing factors."""
        return crossed_entries(self.study.factors)

    @property
    def crossings(self) -> list[str]:
        """A line of text for each entry with crossed factors, listing factors and levels."""
        return [str(entry) for entry in self.crossed]

    @property
    def absences(self) -> list[str]:
        """A sentence for each player that does not play all games."""
        idle = [f"{label} does not play {game}" for label, game in self.idle]
        return idle + [f"{label} plays no game: no pairing includes it" for label in self.unseated]

    def counts(self) -> Counter[tuple[str, tuple[str, ...]]]:
        """Count matches by game and seating."""
        counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
        for group in self.matches.groups():
            labels = tuple(player.label for player in group.seating)
            counts[group.configuration.game.name, labels] += group.matches
        return counts

    def configurations(self) -> dict[str, int]:
        """Count configurations by game."""
        names = {item.digest: item.game.name for item in self.matches.configurations()}
        return dict(Counter(names.values()))

    def players(self) -> dict[str, SeatedPlayer]:
        """Return all players by digest."""
        groups = self.matches.first_groups()
        return {player.digest: player for group in groups for player in group.seating}

    def seats(self) -> dict[tuple[str, SeatedPlayer], Group]:
        """Return each player's first group of matches in each game."""
        groups: dict[tuple[str, SeatedPlayer], Group] = {}
        for group in self.matches.first_groups():
            for player in group.seating:
                groups.setdefault((group.configuration.game.name, player), group)
        return groups


PlannedConfiguration: TypeAlias = tuple[Configuration, Sequence[PlannedInstance], Pairing | Sample]
"""A configuration with its instances and its pairing."""


PlanLike: TypeAlias = Plan | StudySource
"""A plan, or the study to plan: a study, its file or a preset's name."""
describe_type(PlanLike, "a plan, a study, its file or a preset's name")


def plan_of(planned: PlanLike, store: Store | None = None) -> Plan:
    """Return a plan; lay out a study that is given instead (see :func:`plan_in_store`).

    Raises:
        StudyError: the study cannot be planned.
    """
    return planned if isinstance(planned, Plan) else plan_in_store(planned, store)


def plan(
    study: StudySource,
    tables: Sequence[tuple[Configuration, Sequence[PlannedInstance]]] = (),
) -> Plan:
    """Plan all matches of a study.

    >>> ct.plan("quickstart")
    <Plan: quickstart, 3,210 matches>

    Args:
        study: the study, its file or a preset's name.
        tables: configurations with their instances, for a study with ``instances_from``.

    Raises:
        StudyError: a game has no player, or a listed player is not on the roster.
    """
    study = study_of(study)
    if study.instances_from is None:
        configurations = _tables(study)
    else:
        configurations = [(*table, study.pairing) for table in tables]
    seated = seat_everyone(
        study, [(configuration.game, pairing) for configuration, _, pairing in configurations]
    )
    blocks = [
        Block(configuration, instances, rows, study.repeats)
        for (configuration, instances, _), rows in zip(configurations, seated.rows, strict=True)
    ]
    _not_too_many(sum(block.possible for block in blocks))
    if isinstance(study.pairing, Sample):
        blocks = _sampled(study.pairing.sample, blocks, Chance(f"{study.seed}").apart("sample"))
    matches = PlannedMatches(list(_distinct(blocks)))
    design_of(study, matches)  # rejects an infeasible design
    return Plan(study, matches, seated.idle, seated.unseated, whole=True)


def _not_too_many(matches: int) -> None:
    if matches > LARGEST:
        raise StudyError.at(
            ("instances",),
            f"{matches:,} matches exceed the maximum, {LARGEST:,}; reduce instances or repeats, or "
            "divide the study",
        )


def _tables(study: Study) -> list[PlannedConfiguration]:
    tables: list[PlannedConfiguration] = []
    listed = [(grid, grid.configurations()) for grid in study.games]
    _not_too_many(sum(len(games) * (grid.instances or study.instances) for grid, games in listed))
    for grid, games in listed:
        for game in games:
            configuration = Configuration(game)
            prefix = f"{study.seed}/{configuration.digest}"
            instances = NumberedInstances(prefix, grid.instances or study.instances)
            tables.append((configuration, instances, grid.pairing or study.pairing))
    return tables


def _distinct(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks without the matches that earlier blocks already contain."""
    earlier: dict[str, list[Block]] = {}
    for block in blocks:
        previous = earlier.setdefault(block.configuration.digest, [])
        if previous:
            _comparable([*previous, block])
            known = {id_ for earlier_block in previous for id_ in earlier_block.ids()}
            pairs = zip(block.positions, block.ids(), strict=True)
            yield block.only(position for position, id_ in pairs if id_ not in known)
        else:
            yield block
        previous.append(block)


def _comparable(blocks: Sequence[Block]) -> None:
    if sum(map(len, blocks)) > MOST_COMPARED:
        game = blocks[0].configuration.game
        raise StudyError.at(
            ("games",),
            f"a configuration of {game.name} with more than {MOST_COMPARED:,} matches is listed "
            "twice; list it once",
        )


def _sampled(total: int, blocks: Sequence[Block], chance: Chance) -> list[Block]:
    """Sample matches without replacement, as evenly over configurations as possible."""
    counts = _spread(total, [block.possible for block in blocks], chance)
    sampled = []
    for block, count in zip(blocks, counts, strict=True):
        if count < block.possible:
            block = block.sample(count, partial(chance, "seatings", block.configuration.digest))
        sampled.append(block)
    return sampled


def _spread(total: int, rooms: Sequence[int], chance: Chance) -> list[int]:
    """Distribute a total over bins with limited capacity as evenly as possible."""
    if total > sum(rooms):
        raise StudyError.at(
            ("pairing", "sample"),
            f"{counted(total, 'match')} requested, but only {sum(rooms):,} are possible",
        )
    counts = [0] * len(rooms)
    open_rooms = [index for index, room in enumerate(rooms) if room]
    while total:
        share, remainder = divmod(total, len(open_rooms))
        lucky = set(chance("rest", total).shuffled(open_rooms)[:remainder])
        for index in open_rooms:
            increase = min(rooms[index] - counts[index], share + (index in lucky))
            counts[index] += increase
            total -= increase
        open_rooms = [index for index in open_rooms if counts[index] < rooms[index]]
    return counts


def replaced(planned: Plan, store: Store) -> list[PlannedMatch]:
    """Return the replacement matches that are not in the plan yet.

    All replacements for an instance share one new instance. Its seed is the original seed plus a
    number, so it does not depend on the number or order of runs.
    """
    unanswered = planned.study.unanswered
    if not unanswered.replace:
        return []
    planned_ids = {match.id for match in planned.matches.extra}
    replacements: dict[str, PlannedMatch] = {}
    latest: Sequence[PlannedMatch] = planned.matches
    while latest:
        latest = [
            match_of(match.configuration, instance.replacement(), match.seating, match.repeat)
            for match, kinds in _kinds(latest, store)
            if (instance := match.planned_instance).replacements < unanswered.max_replacements
            and unanswered.of(kinds) == "replace"
        ]
        replacements |= {match.id: match for match in latest if match.id not in planned_ids}
    return list(replacements.values())


def _kinds(
    matches: Iterable[PlannedMatch], store: Store
) -> Iterator[tuple[PlannedMatch, dict[str, dict[str, int]]]]:
    """Yield each match with its numbers of recorded answers by seat and kind of answer."""
    for batch in chunks(matches):
        kinds = store.kinds([match.id for match in batch])
        yield from ((match, kinds.get(match.id, {})) for match in batch)


@reads
def plan_in_store(study: StudySource, store: StoreLike | None) -> Plan:
    """Plan a study, including replacement matches and instances from other studies in the store.

    Raises:
        StudyError: the study cannot be planned.
        VersionMismatch: an earlier match used other rules than the installed rules.
    """
    assert store is None or isinstance(store, Store)
    study = study_of(study)
    if study.instances_from is None:
        planned = plan(study)
        if store is not None:
            planned.matches.extend(replaced(planned, store))
        return planned
    if store is None:
        raise StudyError.at(
            ("instances_from",),
            f'no store with the study "{study.instances_from}"; pass its store',
        )
    tables = list(_tables_of(store, study.instances_from))
    if not tables:
        source = study.instances_from
        problem = f'"{source}" has no finished match in {store.name}'
        raise StudyError.at(("instances_from",), problem)
    return plan(study, tables)


def _tables_of(store: Store, name: str) -> Iterator[tuple[Configuration, list[PlannedInstance]]]:
    """Yield the configurations of a stored study, each with its recorded instances."""
    try:
        store.study(name)
    except StoreError as error:
        raise StudyError.at(("instances_from",), str(error)) from None
    configurations: dict[str, tuple[Configuration, dict[tuple[str, str], PlannedInstance]]] = {}
    for record in store.records(name, bodies=True):
        if record.status not in SETTLED:
            continue
        configuration = Configuration(record.rules)
        _, instances = configurations.setdefault(configuration.digest, (configuration, {}))
        instance = record.table().instance
        name = written_instance_digest(instance.model_dump(mode="json"))
        planned_instance = PlannedInstance(
            f"{record.instance_key}:{name}", record.body["seed"], instance
        )
        instances.setdefault((planned_instance.key, planned_instance.seed), planned_instance)
    for configuration, instances in configurations.values():
        yield configuration, list(instances.values())


@reads
def planned_count(summary: StudySummary, store: StoreLike) -> int | None:
    """Return the recorded or planned number of matches of a stored study; None if unknown."""
    assert isinstance(store, Store)
    if summary.planned is not None or "players" not in summary.spec:
        return summary.planned
    try:
        return len(plan_in_store(parse_study(summary.spec, summary.name), store).matches)
    except CheaptalkError:
        return None


@dataclass(frozen=True, repr=False)
class StudyChanges(Printed):
    """Differences between a plan and the stored version of its study.

    Attributes:
        differences: a sentence per setting that differs, with the planned and the stored value.
        recorded: number of the study's matches in the store.
        set_aside: number of recorded matches that running the plan would supersede.
    """

    study: str
    differences: list[str]
    recorded: int
    set_aside: int
    planned: int

    def printout(self) -> Printout:
        title = f"{self.study}, {self.line or 'no change to recorded matches'}"
        return Printout(title, ["difference"], [[text] for text in self.differences])

    @property
    def line(self) -> str | None:
        """The plan's effect on recorded matches; None if a run only resumes the study.

        >>> StudyChanges("small", ["seed is 1 (stored: 0)"], 4, 3, 6).line
        '3 of 4 recorded matches would be superseded, and 5 would be new'
        """
        new = self.planned - (self.recorded - self.set_aside)
        if self.set_aside:
            superseded = f"{self.set_aside:,} of {counted(self.recorded, 'recorded match')}"
            return f"{superseded} would be superseded, and {new:,} would be new"
        if self.differences and self.recorded:
            return f"{counted(self.recorded, 'recorded match')} kept, and {new:,} new"
        return None


@reads
def changes(planned: PlanLike, store: StoreLike) -> StudyChanges:
    """Return the changes that running a plan would make to the stored study."""
    assert isinstance(store, Store)
    planned = plan_of(planned, store)
    name = planned.study.name
    try:
        spec = store.study(name, counted=False).spec
    except StoreError:
        return StudyChanges(name, [], 0, 0, len(planned.matches))
    current = planned.study.written()
    if spec != current:
        with suppress(CheaptalkError):  # an imported study, or a study of another version
            spec = parse_study(spec, name).written()
    differing = list(differences(current, spec))
    playable = {configuration.digest for configuration in planned.matches.configurations()}
    recorded, superseded = store.count_members(name), 0
    unchanged = not differing and store.configurations(name) <= playable
    if recorded and planned.whole and not unchanged:  # otherwise skip generating all ids
        superseded = recorded - store.count_members(name, planned.matches.ids())
        superseded -= len(store.with_people(name).difference(planned.matches.ids()))
    return StudyChanges(name, differing, recorded, superseded, len(planned.matches))
