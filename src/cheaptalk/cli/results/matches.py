"""The command that lists recorded matches: matches."""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, NamedTuple

import typer

import cheaptalk as ct
from cheaptalk.cli.shared import completion
from cheaptalk.cli.shared.options import DEFAULT_STORE, JsonOption, StoreOption, pair
from cheaptalk.cli.shared.printing import err, say
from cheaptalk.text import visible


class SortKey(StrEnum):
    """What matches can be sorted by."""

    STORED = "stored"
    BEGUN = "begun"
    FINISHED = "finished"
    GAME = "game"
    STATE = "state"
    CALLS = "calls"
    TOKENS = "tokens"
    DOLLARS = "dollars"


class State(StrEnum):
    """How far a match has come."""

    LIVE = "live"
    FINISHED = "finished"
    FORFEITED = "forfeited"
    FAILED = "failed"


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
    "=": operator.eq,
}  # fmt: skip
CONDITION = re.compile(r"([^<>!=]+)(<=|>=|!=|<|>|=)([^<>!=]+)")
PAYOFF = "payoff."


class Condition(NamedTuple):
    """A bound on a number of a match: a measure's name, or ``payoff.PLACE``."""

    name: str
    holds: Callable[[float, float], bool]
    bound: float

    def of(self, record: ct.MatchRecord) -> bool:
        """Whether it holds; never where there is no such number."""
        found = self._number(record)
        return found is not None and self.holds(found, self.bound)

    def _number(self, record: ct.MatchRecord) -> float | None:
        if record.status is not ct.records.Status.FINISHED:
            return None
        if self.name.startswith(PAYOFF):
            return (record.payoffs or {}).get(self.name.removeprefix(PAYOFF))
        measure = ct.game_box(record.game).measures.get(self.name)
        return None if measure is None else measure.variant(False)(record.result())


def matches(
    study: Annotated[
        str | None,
        typer.Argument(help="Only this study's.", autocompletion=completion.stored_studies),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    game: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this game's. Repeat it for several.", autocompletion=completion.games
        ),
    ] = None,
    player: Annotated[
        list[str] | None,
        typer.Option(help="Only with this player, by its label. Repeat it: all of them."),
    ] = None,
    seat: Annotated[
        list[str] | None,
        typer.Option(help="Only with this player in this place.", metavar="PLACE=LABEL"),
    ] = None,
    state: Annotated[
        list[State] | None, typer.Option(help="Only of this state. Repeat it for several.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="Only where a measure or a payoff is so, such as agreement=0 or payoff.bob>50. "
            "Repeat it: all of them.",
            metavar="NAME=NUMBER",
        ),
    ] = None,
    sort: Annotated[SortKey, typer.Option(help="What to sort by.")] = SortKey.STORED,
    reverse: Annotated[bool, typer.Option("--reverse", help="The last or greatest first.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="List so many at most.")] = None,
    json: JsonOption = False,
) -> None:
    """List recorded matches, or those that fit: id, game, state, players and payoffs."""
    seats = dict(pair(one, "PLACE=LABEL", "--seat") for one in seat or ())
    conditions = list(map(_condition, where or ()))
    with ct.Store.open(store) as opened:
        if study is not None:
            opened.study(study, counted=False)
        games = ct.records.games_in(opened)
        _check("game", game or (), games)
        _check("player", [*(player or ()), *seats.values()], ct.records.labels_in(opened, study))
        _check("measure", [one.name for one in conditions], _measures(games))
        key = ct.records.ORDERS[sort.value]
        found = opened.records(
            study, bodies=any(not one.name.startswith(PAYOFF) for one in conditions),
            games=game or None, where=ct.records.in_state(one.value for one in state or State),
            order=key.desc() if reverse else key,
        )  # fmt: skip
        fitting = (
            one
            for one in found
            if _seated(one, player or (), seats) and all(each.of(one) for each in conditions)
        )
        (_print_json if json else _print_lines)(
            islice(fitting, limit), max(map(len, games), default=0)
        )


def _condition(written: str) -> Condition:
    """A condition as it is written behind ``--where``.

    Raises:
        BadParameter: it is none.
    """
    found = CONDITION.fullmatch(written)
    try:
        assert found is not None
        return Condition(found[1].strip(), COMPARISONS[found[2]], float(found[3]))
    except (AssertionError, ValueError):
        form = "NAME=NUMBER, NAME<NUMBER or the like"
        raise typer.BadParameter(f'"{written}" is not {form}', param_hint="--where") from None


def _check(kind: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that nothing in the store has, as nothing would fit for another reason."""
    for one in wanted:
        if one not in known and not (kind == "measure" and one.startswith(PAYOFF)):
            raise ct.rules.unknown(kind, one, list(known))


def _measures(games: Sequence[str]) -> list[str]:
    """The measures of those of these games that are installed."""
    installed = [ct.game_box(game) for game in games if game in ct.rules.games()]
    return sorted({name for box in installed for name in box.measures})


def _seated(record: ct.MatchRecord, players: Sequence[str], seats: Mapping[str, str]) -> bool:
    """Whether all these players sit there, and these in their places."""
    labels = {place: player["label"] for place, player in record.seats.items()}
    there = labels.values()
    return all(one in there for one in players) and seats.items() <= labels.items()


def _print_lines(found: Iterator[ct.MatchRecord], width: int) -> None:
    """A line each, printed as it is read."""
    empty = True
    for record in found:
        empty = False
        state = f"{record.status.value:{max(map(len, State))}}"
        line = f"{record.id}  {record.game:{width}}  {state}  {_players(record)}"
        line += f": {' '.join(record.why.split())}" if record.why else ""
        sys.stdout.write(visible(line) + "\n")
    if empty:
        say("no match fits", to=err)


def _players(record: ct.MatchRecord) -> str:
    """Who sits where and gained what, such as ``alice gpt 30, bob fair 70``."""
    gains = record.payoffs or {}
    seated = {
        place: (player["label"], f" {gains[place]:,.10g}" if place in gains else "")
        for place, player in record.seats.items()
    }
    return ", ".join(
        f"{' to '.join(places)} {label}{gain}" for places, (label, gain) in ct.records.runs(seated)
    )


def _print_json(found: Iterator[ct.MatchRecord], _: int) -> None:
    """An array with an object each, printed as they are read."""
    between = "["
    for record in found:
        sys.stdout.write(
            f"{between}\n{ct.records.encoding.standard_json(_as_json(record), ensure_ascii=False)}"
        )
        between = ","
    sys.stdout.write("[]\n" if between == "[" else "\n]\n")


def _as_json(record: ct.MatchRecord) -> dict[str, Any]:
    players = {place: player["label"] for place, player in record.seats.items()}
    return {
        "match_id": record.id, "game": record.game, "parameters": record.parameters,
        "deal": record.deal_key, "repeat": record.repeat, "players": players,
        "status": record.status.value, "reason": record.why, "payoffs": record.payoffs,
        "calls": record.calls, "tokens": record.input_tokens + record.output_tokens,
        "dollars": record.dollars, "begun": record.begun, "finished": record.finished,
    }  # fmt: skip
