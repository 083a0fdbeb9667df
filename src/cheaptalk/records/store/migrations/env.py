"""Alembic environment: migrate the connection that the store provides."""

from alembic import context

from cheaptalk.records.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
