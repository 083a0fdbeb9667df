"""Add paying studies, match times, implausible token counts, and digests of studies and rosters."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

FIRST = """
select min(members.study_id)
from members join matches on matches.number = members.match_number
where matches.id = :id
"""
"""The payer of earlier calls: the oldest study with the match."""
PURCHASES = """
insert into purchases (study_id, match_number, calls, input_tokens, output_tokens, cached_tokens,
    reasoning_tokens, dollars, unpriced, uncounted, implausible)
select min(members.study_id), number, calls, input_tokens, output_tokens,
    coalesce(cached_tokens, 0), coalesce(reasoning_tokens, 0), coalesce(dollars, 0.0),
    coalesce(unpriced, calls),
    coalesce(uncounted, case when input_tokens = 0 then calls else 0 end), 0
from matches join members on members.match_number = matches.number
where status in ('finished', 'forfeited') and calls > 0
group by number, calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, dollars,
    unpriced, uncounted
"""


def upgrade() -> None:
    op.add_column("matches", sa.Column("begun", sa.Float))
    op.add_column("matches", sa.Column("implausible", sa.Integer))
    op.add_column("calls", sa.Column("study_id", sa.Integer))
    op.add_column("judgements", sa.Column("study_id", sa.Integer))
    op.add_column("studies", sa.Column("digest", sa.String))
    op.add_column("rosters", sa.Column("digest", sa.String))
    op.create_table(
        "purchases",
        sa.Column(
            "study_id", sa.Integer, sa.ForeignKey("studies.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column(
            "match_number", sa.Integer, sa.ForeignKey("matches.number"), primary_key=True
        ),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False),
        sa.Column("reasoning_tokens", sa.Integer, nullable=False),
        sa.Column("dollars", sa.Float, nullable=False),
        sa.Column("unpriced", sa.Integer, nullable=False),
        sa.Column("uncounted", sa.Integer, nullable=False),
        sa.Column("implausible", sa.Integer, nullable=False),
    )  # fmt: skip
    op.execute(PURCHASES)
    connection = op.get_bind()
    for table in ("calls", "judgements"):
        rows = sa.table(table, sa.column("match_id"), sa.column("study_id"))
        for id_ in connection.scalars(sa.select(rows.c.match_id).distinct()).all():
            match_id = id_.rpartition(":")[2]  # a judge's stand under its name and the match's
            first = connection.scalar(sa.text(FIRST), {"id": match_id})
            ours = sa.update(rows).where(rows.c.match_id == id_)
            connection.execute(ours.values(study_id=first))
