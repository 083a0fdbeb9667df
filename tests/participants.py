"""Participants of a study: inserts the rows that the web server writes."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from cheaptalk.records import Store
from cheaptalk.records.store import schema

Answered = tuple[str, Mapping[str, Any], bool | None]
"""A step, the answers, and whether they were correct."""


class People:
    """Adds participants to a study.

    Args:
        store: the store of the study.
        study: its name; registered if missing.
    """

    def __init__(self, store: Store, study: str) -> None:
        self.store = store
        self.study_id = store.study_id(study) or store.register_study(study, {"players": {}})
        self.count = 0

    def come(
        self,
        step: str,
        ending: str | None = None,
        answers: Sequence[Answered] = (),
        plays: Sequence[Mapping[str, Any]] = (),
        **pay: int,
    ) -> int:
        """Add a participant and return their number.

        Args:
            step: the current or last step.
            ending: how participation ended.
            answers: the answers; a step ``quiz@2`` follows the second game.
            plays: the games: ``state``, ``match``, ``seat`` and so on.
            pay: payments in cents; ``base`` is base pay, all others are bonuses.
        """
        self.count += 1
        who = {
            "study_id": self.study_id, "code": f"p{self.count}", "cohort": "all", "step": step,
            "visit": 1, "ending": ending, "known_as": "Ada Lovelace", "flags": [],
            "begun": 100.0 * self.count, "changed": 100.0 * self.count + 50,
        }  # fmt: skip
        with self.store.transaction() as connection:
            number = connection.execute(
                sa.insert(schema.participants).values(who).returning(schema.participants.c.id)
            ).scalar_one()
            for at, (name, answer, correct) in enumerate(answers):
                of, _, game = name.partition("@")
                connection.execute(sa.insert(schema.responses).values(
                    participant_id=number, number=at, step=of, visit=1, game=int(game or 0),
                    answer=dict(answer), correct=correct, shown=1.0, answered=1.0 + 10 * (at + 1),
                ))  # fmt: skip
            for at, play in enumerate(plays, 1):
                given = {"treatment": "t", "game": "bargaining", "assigned": 2.0} | dict(play)
                connection.execute(
                    sa.insert(schema.plays).values(participant_id=number, number=at, **given)
                )
            for key, cents in pay.items():
                connection.execute(sa.insert(schema.payments).values(
                    study_id=self.study_id, participant_id=number, key=key, cents=cents,
                    kind="base" if key == "base" else "bonus", made=3.0,
                ))  # fmt: skip
        return int(number)

    def prompt(self, number: int, correct: bool | None) -> None:
        """Add an attention prompt; ``correct`` is None while it is open."""
        with self.store.transaction() as connection:
            connection.execute(sa.insert(schema.notices).values(
                participant_id=number, kind="attention", text="Still there?", sent=4.0, due=5.0,
                correct=correct,
            ))  # fmt: skip


def mark_as_person(store: Store, label: str) -> None:
    """Mark a label's player as a person in the browser."""
    player_ids = sa.select(schema.rosters.c.player_id).where(schema.rosters.c.label == label)
    with store.transaction() as connection:
        connection.execute(
            sa.update(schema.players)
            .where(schema.players.c.id.in_(player_ids))
            .values(spec={"person": "browser"})
        )
