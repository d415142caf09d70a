BEGIN TRANSACTION;
CREATE TABLE jobs (
    name TEXT NOT NULL,
    provider TEXT NOT NULL,
    base TEXT NOT NULL,          -- name without its run number
    run INTEGER NOT NULL,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    proof TEXT NOT NULL DEFAULT '',
    world_size INTEGER NOT NULL,
    created REAL NOT NULL,       -- seconds since the epoch
    ended REAL,
    checkpoint TEXT NOT NULL DEFAULT '',
    definition TEXT NOT NULL,    -- the document's text
    details TEXT NOT NULL,       -- JSON
    PRIMARY KEY (provider, name)
);
INSERT INTO "jobs" VALUES('train-3f2a9c1e-1','sagemaker','train-3f2a9c1e',1,'intent','','',8,1763700000.0,NULL,'s3://b/c','{"TrainingJobName": "train-3f2a9c1e-1"}
','{"region": "us-east-1", "account": "123456789012"}');
INSERT INTO "jobs" VALUES('train-0badcafe-1','local','train-0badcafe',1,'succeeded','','world size 2: 2 hosts x 1 rank',2,1763700100.0,1763700200.0,'','{}
','{"folder": "/x"}');
CREATE INDEX jobs_by_base ON jobs (provider, base, run);
COMMIT;
PRAGMA user_version = 0;
