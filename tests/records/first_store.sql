-- A store of the first version.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE calls (
    id INTEGER NOT NULL,
    match_id VARCHAR NOT NULL,
    request INTEGER NOT NULL,
    seat VARCHAR NOT NULL,
    attempt INTEGER NOT NULL,
    try INTEGER NOT NULL,
    state VARCHAR NOT NULL,
    call JSON NOT NULL,
    reply JSON,
    sent FLOAT NOT NULL,
    received FLOAT,
    PRIMARY KEY (id),
    UNIQUE (match_id, request, seat, attempt, try)
);
INSERT INTO "calls" VALUES(1,'m',0,'alice',0,1,'unresolved','{"model": "openai/gpt-4o"}',NULL,1.5,NULL);
CREATE TABLE configurations (
    id INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    game VARCHAR NOT NULL,
    version INTEGER NOT NULL,
    parameters JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);
INSERT INTO "configurations" VALUES(1,'c','bargaining',1,'{}');
CREATE TABLE matches (
    number INTEGER NOT NULL,
    id VARCHAR NOT NULL,
    configuration_id INTEGER NOT NULL,
    deal VARCHAR NOT NULL,
    repeat INTEGER NOT NULL,
    seats JSON NOT NULL,
    status VARCHAR NOT NULL,
    reason TEXT,
    outcome JSON,
    payoffs JSON,
    kinds JSON,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    finished FLOAT,
    body BLOB,
    PRIMARY KEY (number),
    UNIQUE (id),
    FOREIGN KEY(configuration_id) REFERENCES configurations (id)
);
INSERT INTO "matches" VALUES(1,'m',1,'0',0,'{"alice": 1, "bob": 1}','finished',NULL,'{}','{"alice": 60.0, "bob": 40.0}','{}',3,7,9,2.0,NULL);
CREATE TABLE members (
    study_id INTEGER NOT NULL,
    match_number INTEGER NOT NULL,
    PRIMARY KEY (study_id, match_number),
    FOREIGN KEY(study_id) REFERENCES studies (id) ON DELETE CASCADE,
    FOREIGN KEY(match_number) REFERENCES matches (number)
) WITHOUT ROWID;
INSERT INTO "members" VALUES(1,1);
CREATE TABLE players (
    id INTEGER NOT NULL,
    digest VARCHAR NOT NULL,
    spec JSON NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (digest)
);
INSERT INTO "players" VALUES(1,'p','{"strategy": "soft"}');
CREATE TABLE rosters (
    study_id INTEGER NOT NULL,
    player_id INTEGER NOT NULL,
    label VARCHAR NOT NULL,
    PRIMARY KEY (study_id, player_id),
    FOREIGN KEY(study_id) REFERENCES studies (id) ON DELETE CASCADE,
    FOREIGN KEY(player_id) REFERENCES players (id)
);
INSERT INTO "rosters" VALUES(1,1,'soft');
CREATE TABLE studies (
    id INTEGER NOT NULL,
    name VARCHAR NOT NULL,
    spec JSON NOT NULL,
    package VARCHAR NOT NULL,
    created FLOAT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE (name)
);
INSERT INTO "studies" VALUES(1,'old','{"name": "old"}','0.1',1.0);
CREATE INDEX matches_by_configuration ON matches (configuration_id);
COMMIT;
