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
"""Schema version; files of later versions are rejected."""


metadata = MetaData()

accounts: Table = Table(
    "accounts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(collation="NOCASE"), nullable=False, unique=True),
    Column("password", String, nullable=False, comment="hash"),
    Column("one_time", Boolean, nullable=False, comment="whether it must be changed at login"),
    Column("role", String, nullable=False, comment="owner, researcher or viewer"),
    Column("made", Float, nullable=False, comment="seconds since 1970"),
    Column("disabled", Float, comment="time since when, or null"),
)

logins: Table = Table(
    "logins",
    metadata,
    Column("token_digest", String, primary_key=True),
    Column("account_id", ForeignKey("accounts.id"), nullable=False, index=True),
    Column("made", Float, nullable=False),
    Column("seen", Float, nullable=False, comment="time of the last use, to the minute"),
    Column("expires", Float, nullable=False, comment="latest end of the session"),
)

drafts: Table = Table(
    "drafts",
    metadata,
    Column("name", String(collation="NOCASE"), primary_key=True),
    Column("text", Text, nullable=False, comment="the study file"),
    Column("version", Integer, nullable=False, comment="number of changes plus 1"),
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
    Column("account", String, nullable=False, comment="account name, or empty"),
    Column("study", String(collation="NOCASE"), nullable=False, index=True),
    Column("deed", String, nullable=False),
    Column("details", JSON, nullable=False),
    sqlite_autoincrement=True,
)
