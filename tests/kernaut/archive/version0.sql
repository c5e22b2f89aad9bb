-- A search archive as a version 0 would have left it: no looks, no imports, evaluations without package versions.
PRAGMA application_id=1263685204;
BEGIN TRANSACTION;
CREATE TABLE accepted (
	campaign_id VARCHAR(120) NOT NULL,
	run_index INTEGER NOT NULL,
	position INTEGER NOT NULL,
	program_id VARCHAR(16) NOT NULL,
	niche VARCHAR(40) NOT NULL,
	feature_growth VARCHAR(40) NOT NULL,
	novelty_band VARCHAR(40) NOT NULL,
	score FLOAT,
	elite_score FLOAT,
	evidence_id VARCHAR(16),
	evaluation_id VARCHAR(16),
	details TEXT NOT NULL,
	PRIMARY KEY (campaign_id, run_index, position),
	FOREIGN KEY(campaign_id, run_index) REFERENCES runs (campaign_id, "index"),
	FOREIGN KEY(program_id) REFERENCES programs (id),
	FOREIGN KEY(evidence_id) REFERENCES evidence (id),
	FOREIGN KEY(evaluation_id) REFERENCES evaluations (id)
);
INSERT INTO "accepted" VALUES('old',0,0,'b2737f1356e352fc','open_ended','linear','distinct',-0.3,0.25,'823f19490c1b9430','00000000000000a0','{}');
CREATE TABLE campaigns (
	id VARCHAR(120) NOT NULL,
	benchmark VARCHAR(80) NOT NULL,
	strategy VARCHAR(40) NOT NULL,
	seed VARCHAR(24) NOT NULL,
	run_count INTEGER NOT NULL,
	options TEXT NOT NULL,
	data_digest VARCHAR(64) NOT NULL,
	versions TEXT NOT NULL,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "campaigns" VALUES('old','bbo','evolutionary','9223372036854775813',3,'{"pool":64}','d1','{"torch":"2.6"}','2026-11-29T23:01:08.786+00:00');
CREATE TABLE drafts (
	campaign_id VARCHAR(120) NOT NULL,
	run_index INTEGER NOT NULL,
	"index" INTEGER NOT NULL,
	candidate TEXT NOT NULL,
	state VARCHAR(40) NOT NULL,
	program_id VARCHAR(16),
	reason TEXT,
	details TEXT NOT NULL,
	PRIMARY KEY (campaign_id, run_index, "index"),
	FOREIGN KEY(campaign_id, run_index) REFERENCES runs (campaign_id, "index"),
	FOREIGN KEY(program_id) REFERENCES programs (id)
);
CREATE TABLE evaluations (
	id VARCHAR(16) NOT NULL,
	program_id VARCHAR(16) NOT NULL,
	benchmark VARCHAR(80) NOT NULL,
	split VARCHAR(20) NOT NULL,
	purpose VARCHAR(40) NOT NULL,
	seed VARCHAR(24) NOT NULL,
	options TEXT NOT NULL,
	data_digest VARCHAR(64) NOT NULL,
	scores TEXT,
	outcomes TEXT NOT NULL,
	reason TEXT,
	seconds FLOAT NOT NULL,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (id),
	CONSTRAINT split_belongs_here CHECK (split IN ('train')),
	CONSTRAINT scored_or_reason CHECK ((scores IS NULL) <> (reason IS NULL)),
	FOREIGN KEY(program_id) REFERENCES programs (id)
);
INSERT INTO "evaluations" VALUES('00000000000000a0','b2737f1356e352fc','bbo','train','search','9223372036854775813','{"episodes_per_family":2}','d1','{"mean_crps":0.30000000000000004}','[{"episode":"branin:seed-0"}]',NULL,1.5,'2026-11-29T23:01:08.807+00:00');
CREATE TABLE evidence (
	id VARCHAR(16) NOT NULL,
	program_id VARCHAR(16) NOT NULL,
	accepted BOOLEAN NOT NULL,
	tier VARCHAR(8) NOT NULL,
	dimensions TEXT NOT NULL,
	seed VARCHAR(24) NOT NULL,
	report TEXT NOT NULL,
	versions TEXT NOT NULL,
	seconds FLOAT NOT NULL,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(program_id) REFERENCES programs (id)
);
INSERT INTO "evidence" VALUES('823f19490c1b9430','b2737f1356e352fc',1,'T2','[2,5]','3','{"accepted":true}','{"torch":"2.6"}',0.25,'2026-11-29T23:01:08.803+00:00');
CREATE TABLE formulations (
	id VARCHAR(16) NOT NULL,
	niche VARCHAR(40) NOT NULL,
	feature_growth VARCHAR(40) NOT NULL,
	fields TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE freezes (
	sequence INTEGER NOT NULL,
	event VARCHAR(8) NOT NULL,
	digest VARCHAR(16) NOT NULL,
	reason TEXT NOT NULL,
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (sequence),
	CONSTRAINT event_known CHECK (event IN ('frozen', 'forced'))
);
CREATE TABLE identity (
	"key" VARCHAR(40) NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY ("key")
);
INSERT INTO "identity" VALUES('kind','search archive');
INSERT INTO "identity" VALUES('version','0');
INSERT INTO "identity" VALUES('archive_id','15098b4657dd2035');
CREATE TABLE lineage (
	child_id VARCHAR(16) NOT NULL,
	parent_id VARCHAR(16) NOT NULL,
	kind VARCHAR(20) NOT NULL,
	counts BOOLEAN NOT NULL,
	PRIMARY KEY (child_id, parent_id, kind),
	FOREIGN KEY(child_id) REFERENCES programs (id)
);
CREATE TABLE programs (
	id VARCHAR(16) NOT NULL,
	name VARCHAR(80) NOT NULL,
	contract VARCHAR(40) NOT NULL,
	source TEXT NOT NULL,
	parameters TEXT NOT NULL,
	parents TEXT NOT NULL,
	rationale TEXT NOT NULL,
	space TEXT NOT NULL,
	formulation_id VARCHAR(16),
	recorded_at VARCHAR(32) NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(formulation_id) REFERENCES formulations (id)
);
INSERT INTO "programs" VALUES('b2737f1356e352fc','elder','feature_map','def feature_point(x, parameters):
    return parameters[''gain''] * x
','{"gain":0.1}','[]','An older archive''s program.','[]',NULL,'2026-11-29T23:01:08.799+00:00');
CREATE TABLE runs (
	campaign_id VARCHAR(120) NOT NULL,
	"index" INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	status VARCHAR(8) NOT NULL,
	attempt INTEGER NOT NULL,
	state TEXT NOT NULL,
	result TEXT,
	seconds FLOAT NOT NULL,
	opened_at VARCHAR(32) NOT NULL,
	closed_at VARCHAR(32),
	PRIMARY KEY (campaign_id, "index"),
	CONSTRAINT status_known CHECK (status IN ('open', 'closed')),
	CONSTRAINT closed_with_result CHECK ((status = 'closed') = (result IS NOT NULL)),
	FOREIGN KEY(campaign_id) REFERENCES campaigns (id)
);
INSERT INTO "runs" VALUES('old',0,0,'closed',1,'{"k":1}','{"ok":true}',0.0,'2026-11-29T23:01:08.793+00:00','2026-11-29T23:01:08.814+00:00');
CREATE TABLE transcripts (
	campaign_id VARCHAR(120) NOT NULL,
	run_index INTEGER NOT NULL,
	position INTEGER NOT NULL,
	role VARCHAR(40) NOT NULL,
	content TEXT NOT NULL,
	usage TEXT NOT NULL,
	PRIMARY KEY (campaign_id, run_index, position),
	FOREIGN KEY(campaign_id, run_index) REFERENCES runs (campaign_id, "index")
);
CREATE TABLE trials (
	campaign_id VARCHAR(120) NOT NULL,
	run_index INTEGER NOT NULL,
	draft_index INTEGER NOT NULL,
	"index" INTEGER NOT NULL,
	method VARCHAR(40) NOT NULL,
	parameters TEXT NOT NULL,
	fitness FLOAT,
	reason TEXT,
	details TEXT NOT NULL,
	PRIMARY KEY (campaign_id, run_index, draft_index, "index"),
	FOREIGN KEY(campaign_id, run_index) REFERENCES runs (campaign_id, "index"),
	CONSTRAINT fitness_or_reason CHECK ((fitness IS NULL) <> (reason IS NULL))
);
CREATE INDEX runs_by_generation ON runs (campaign_id, generation);
CREATE INDEX ix_evidence_program_id ON evidence (program_id);
CREATE INDEX ix_evaluations_program_id ON evaluations (program_id);
CREATE INDEX ix_accepted_program_id ON accepted (program_id);
COMMIT;
