"""Matches that are played step by step, for debugging, teaching and search."""

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from cheaptalk.players import RosterEntry, SeatSpec, StrategySeat
from cheaptalk.records import MatchRecord, Status, match_end, text_of, transcript
from cheaptalk.records.chat import scripted_chat
from cheaptalk.records.identity import Configuration, match_digest, written_player_digest
from cheaptalk.records.record import ENDED_COLUMNS, scripted_answers
from cheaptalk.records.transcripts import Transcript
from cheaptalk.rules import (
    Action,
    Ask,
    CheaptalkError,
    Decide,
    DecisionRequest,
    Game,
    IllegalAction,
    Instance,
    Outcome,
    Table,
    UnknownName,
    counted,
    explain,
    get_game,
)
from cheaptalk.rules.arguments import checked
from cheaptalk.rules.deciders import copied, decider, is_player
from cheaptalk.rules.display import brief, html_table
from cheaptalk.rules.errors import expect, problem_of
from cheaptalk.rules.play import check_seats, take_turn
from cheaptalk.styles import Unparsable, style

CALLER = {"label": "caller", "spec": {"person": "python"}}
"""The recorded player of the seats for which the caller answers."""


class Match:
    """A match that is played step by step.

    Seated players answer their requests by themselves until it is the caller's turn. If all seats
    have a player, each :meth:`step` answers one request.

    Args:
        game: the game, or the name of a game with default parameters.
        seats: the players by seat or role: a strategy's name, a roster entry, or a Python player
            (see :func:`.decider`). The caller answers for all other seats.
        seed: the seed of the instance and of all random draws.
        instance: the instance; by default the one that the seed determines, as in a study.

    Attributes:
        table: the state of the match, including private information of all seats.

    Raises:
        UnknownName: there is no such game.
        CheaptalkError: a player is unknown or can't play the seat, or ``seats`` names no seat.

    >>> from cheaptalk.games import Bargaining
    >>> match = Match(Bargaining(money=100, messages=False), {"bob": "boulware"}, "a lesson")
    >>> match
    <Match: bargaining, 0 answers, asks alice>
    >>> match.step({"alice_gain": 70, "bob_gain": 40})
    Traceback (most recent call last):
    cheaptalk.rules.table.IllegalAction: the two parts must add up to 100, not 110
    >>> match.step({"alice_gain": 70, "bob_gain": 30})  # Bob rejects, and makes an offer
    <Match: bargaining, 3 answers, asks alice>
    >>> match.legal
    [Reply(decision='accept'), Reply(decision='reject')]
    >>> match.copy().step('{"decision": "accept"}').payoffs
    {'alice': 9.0, 'bob': 81.0}
    >>> match.record.status, match.done
    (<Status.LIVE: 'live'>, False)
    """

    @checked
    def __init__(
        self,
        game: Game | str,
        seats: Mapping[str, Any] | None = None,
        seed: str | int = 0,
        *,
        instance: Instance | None = None,
    ) -> None:
        game = get_game(game).rules() if isinstance(game, str) else game
        expect(game, Game, "a game or its name, such as ct.Match(NAME)")  # type: ignore[type-abstract]
        seats = seats or {}
        check_seats(game, seats)
        self.game, self.seed = game, str(seed)
        self.table = Table(game, instance or game.instance_of(self.seed), self.seed)
        self._instance = "" if instance is None else instance.model_dump_json()
        self._players = {
            seat: seats.get(seat, seats.get(role)) for seat, role in game.seats.items()
        }
        self._deciders = {seat: self._decider(seat) for seat in game.seats}
        self._seat_of = {actor.name: actor.seat for actor in game.actors}
        self._record: tuple[int, MatchRecord] | None = None
        self._advance()

    def __repr__(self) -> str:
        answers = counted(len(self.table.given), "answer")
        return brief(self, f"{self.game.name}, {answers}, {self._standing}")

    def _repr_html_(self) -> str:
        title = f"{self.game.name}: {self._standing}"
        request = self.request
        try:
            rows = [
                (line.name, line.text, (line.answer and text_of(line.answer)) or "")
                for line in self.transcript
            ]
            notes = [] if request is None else [style(self.game.name).ask(request.ask, self.game)]
        except UnknownName:  # a game without registered prompts
            return self.table._repr_html_()
        notes += [f"payoffs: {self.payoffs}"] if self.payoffs else []
        return html_table(title, ["actor", "observed", "answer"], rows, notes)

    @property
    def _standing(self) -> str:
        request = self.request
        return self.table.standing if request is None else f"asks {request.actor}"

    @property
    def done(self) -> bool:
        """Whether the match has ended."""
        return self.table.over

    @property
    def request(self) -> DecisionRequest | None:
        """The decision request that the next step answers; None if the match has ended."""
        pending = [*self.table.pending]
        waiting = [actor for actor in pending if self._decider_of(actor) is None]
        return self.table.request((waiting or pending)[0]) if pending else None

    @property
    def legal(self) -> list[Action] | None:
        """All legal answers to the request; None if they can't be listed or the match is over."""
        request = self.request
        return None if request is None else self.table.legal(request.actor)

    @property
    def outcome(self) -> Outcome | None:
        """The outcome; None if the match hasn't ended or was forfeited."""
        return self.table.outcome

    @property
    def payoffs(self) -> dict[str, float]:
        """The payoffs by seat; empty if there is no outcome."""
        return {} if self.outcome is None else self.game.seat_payoffs(self.outcome)

    @property
    def record(self) -> MatchRecord:
        """The match as a record, with the status ``live`` before its end.

        In a study, a match of the same players with the same seed has the same id.
        """
        count = len(self.table.given)
        if self._record is None or self._record[0] != count:
            self._record = count, self._recorded()
        return self._record[1]

    @property
    def transcript(self) -> Transcript:
        """The observations and answers so far."""
        return transcript(self.record)

    def step(self, action: Action | Mapping[str, Any] | str | None = None) -> "Match":
        """Answer the request, and return the match.

        Args:
            action: an action, its fields, or a text in the format of the game's default prompt
                style; None if the seat's player answers.

        Raises:
            IllegalAction: the rules refuse the action, or the text has no clear answer; the match
                is unchanged.
            StrategyError: a seated player failed or answered illegally.
            CheaptalkError: the match has ended, or nobody has given an action.
        """
        request = self.request
        if request is None:
            raise CheaptalkError("the match has ended; start another match")
        decide = self._decider_of(request.actor)
        if action is not None:
            self.table.answer(request.actor, self._read(action, request.ask))
        elif decide is not None:
            take_turn(self.table, request.actor, decide)
        else:
            raise CheaptalkError(
                f'"{request.actor}" has no player; pass an action to step, or seat a player'
            )
        self._advance()
        return self

    def play(self) -> "Match":
        """Let seated players answer until the match ends or only the caller can answer.

        Raises:
            StrategyError: a seated player failed or answered illegally.
        """
        while (request := self.request) and (decide := self._decider_of(request.actor)):
            take_turn(self.table, request.actor, decide)
        return self

    def copy(self) -> "Match":
        """Return an independent copy of the match, for example to try an action.

        Raises:
            CheaptalkError: a player's state cannot be copied.
        """
        other = copy.copy(self)
        other.table = self.table.clone()
        other._deciders = {
            seat: decide and copied(decide) for seat, decide in self._deciders.items()
        }
        return other

    def _advance(self) -> None:
        """Let the seated players answer, unless the caller steps through their requests."""
        if None in self._deciders.values():
            self.play()

    def _decider_of(self, actor: str) -> Decide | None:
        return self._deciders[self._seat_of[actor]]

    def _decider(self, seat: str) -> Decide | None:
        player = self._players[seat]
        if player is None or is_player(player):
            return player and decider(player)
        spec = self._spec(seat)
        if not spec.instant and not isinstance(spec, StrategySeat):
            raise CheaptalkError(
                f"{seat}: only scripted and Python players can be seated in a ct.Match; leave out "
                "the seat and pass each answer to step, or play a study with ct.run"
            )
        return decider(spec.decide())

    def _spec(self, seat: str) -> SeatSpec:
        try:
            entry = RosterEntry.model_validate(self._players[seat])
            spec = entry.seat(self.game, seat)
        except ValueError as error:
            raise CheaptalkError(f"{seat}: {problem_of(error) or error}") from None
        if spec is None:
            raise CheaptalkError(f"{seat}: {entry.form.why_idle([self.game.name])}")
        return spec

    @cached_property
    def _seated(self) -> dict[str, dict[str, Any]]:
        """The label and settings of the player in each seat."""
        seated = {}
        for seat, player in self._players.items():
            spec = None if player is None else self._spec(seat)
            label = getattr(spec, "strategy", None) or str(player)
            seated[seat] = (
                {"label": label, "spec": spec.model_dump(mode="json")} if spec else CALLER
            )
        return seated

    def _recorded(self) -> MatchRecord:
        order = [*self._seat_of]
        answers = scripted_answers(self.table.given)
        answers.sort(key=lambda answer: (answer.request, order.index(answer.actor)))
        end = match_end(self.table, self.seed, answers, chat=scripted_chat(self.table))
        columns = {name: getattr(end, name) for name in ENDED_COLUMNS if name != "body"}
        if end.status is Status.LIVE:
            columns["finished"] = None
        parameters = self.game.model_dump(mode="json")
        configuration = Configuration(self.game.name, self.game.version, parameters)
        players = [written_player_digest(player["spec"]) for player in self._seated.values()]
        return MatchRecord(
            id=match_digest(configuration.digest, self.seed, self._instance, 0, players),
            configuration=configuration,
            instance_key=self.seed,
            repeat=0,
            seats=self._seated,
            packed=end.body,
            **columns,
        )

    def _read(self, action: object, ask: Ask) -> object:
        """Return an answer as an action if it has another form; raise IllegalAction if unclear."""
        try:
            if isinstance(action, str):
                return style(self.game.name).codec.read(action, ask)
            return ask.action.model_validate(action) if isinstance(action, Mapping) else action
        except ValidationError as error:
            raise IllegalAction(explain(error)) from None
        except Unparsable as error:
            raise IllegalAction(str(error)) from None
