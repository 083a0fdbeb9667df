"""The tables of the laboratory's database."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

VERSION = 1
"""Of these tables; a file of a later one is refused."""

metadata = MetaData()

accounts: Table = Table(
    "accounts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(collation="NOCASE"), nullable=False, unique=True),
    Column("password", String, nullable=False, comment="its hash"),
    Column("one_time", Boolean, nullable=False, comment="whether it must be changed at once"),
    Column("role", String, nullable=False, comment="owner, researcher or viewer"),
    Column("made", Float, nullable=False, comment="seconds since 1970"),
    Column("disabled", Float, comment="since when; null while it is not"),
)

logins: Table = Table(
    "logins",
    metadata,
    Column("token_digest", String, primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("made", Float, nullable=False),
    Column("seen", Float, nullable=False, comment="when it was last used, to the minute"),
    Column("expires", Float, nullable=False, comment="at the latest"),
)

drafts: Table = Table(
    "drafts",
    metadata,
    Column("name", String(collation="NOCASE"), primary_key=True),
    Column("text", Text, nullable=False, comment="the study file"),
    Column("version", Integer, nullable=False, comment="one more with each change"),
    Column("made_by", String, nullable=False, comment="name of an account"),
    Column("changed_by", String, nullable=False),
    Column("made", Float, nullable=False),
    Column("changed", Float, nullable=False, index=True),
)

audit: Table = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("account", String, nullable=False, comment="who did it; empty for nobody known"),
    Column("study", String(collation="NOCASE"), nullable=False, index=True),
    Column("deed", String, nullable=False),
    Column("details", JSON, nullable=False),
    sqlite_autoincrement=True,
)
