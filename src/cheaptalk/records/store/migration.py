"""Making a store's tables, and bringing those of an older one up to date with alembic."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from cheaptalk.records.store.schema import metadata, studies


def upgrade(connection: sa.Connection) -> None:
    """Make the tables, or run the migrations that they lack, in the connection's transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    if sa.inspect(connection).has_table(studies.name):
        command.upgrade(config, "head")
    else:
        metadata.create_all(connection)
        command.stamp(config, "head")
