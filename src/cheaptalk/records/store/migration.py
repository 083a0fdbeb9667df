"""Creation of a store's tables, and migration of older stores with alembic."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from cheaptalk.records.store.schema import metadata, studies
from cheaptalk.records.store.views import drop_views, make_views


def upgrade(connection: sa.Connection) -> None:
    """Create the tables, or run pending migrations, in the connection's transaction.

    Views are recreated, so that they always match the newest tables.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    drop_views(connection)
    if sa.inspect(connection).has_table(studies.name):
        command.upgrade(config, "head")
    else:
        metadata.create_all(connection)
        command.stamp(config, "head")
    make_views(connection)
