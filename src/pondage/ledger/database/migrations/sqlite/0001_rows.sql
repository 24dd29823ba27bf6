-- The rows of spec section "Rows". Times are bigint microseconds UTC, but heartbeats: see processes.
-- bigint keys inside; a `public_id` is what people and paths see.

CREATE TABLE environments (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- Whose published Runs it reads where it has no Pond of its own.
    parent INTEGER REFERENCES environments,
    -- It was removed: its name is free again, and nothing of it is kept for its own sake.
    removed_at INTEGER
);

-- Code and declarations, content-addressed: Runs keep the ones they started with.
-- What trees name by its digest; a flow takes it over when it is submitted.
CREATE TABLE constants (
    digest TEXT PRIMARY KEY,
    data BLOB NOT NULL,
    stored_at INTEGER NOT NULL
);

-- What Spark told of the outputs of components, by their code, the types that came in and their parameters.
CREATE TABLE inferred_types (
    environment INTEGER NOT NULL REFERENCES environments,
    key TEXT NOT NULL,
    outputs TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (environment, key)
);

CREATE TABLE archives (
    digest TEXT PRIMARY KEY,
    data BLOB NOT NULL,
    created_at INTEGER NOT NULL
);
CREATE TABLE definitions (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL
);
CREATE TABLE deployments (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    project TEXT NOT NULL,
    archive TEXT NOT NULL REFERENCES archives,
    plan TEXT NOT NULL,
    -- The ids of the definitions that were in force for the project afterwards: what a rollback deploys again.
    definitions TEXT NOT NULL DEFAULT '[]',
    -- And its reactors, each with the code that it had.
    reactors TEXT NOT NULL DEFAULT '[]',
    -- The components and types that the project gives to trees since then; NULL: as before, or as above.
    exposed TEXT,
    -- For a rollback: the deployment whose state it brought back, so that the next one goes behind it.
    restored INTEGER REFERENCES deployments,
    deployed_at INTEGER NOT NULL
);
CREATE INDEX deployments_newest ON deployments (environment, project, id);

CREATE TABLE actors (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    kind TEXT NOT NULL CHECK (kind IN ('catchment', 'run', 'reactor', 'backfill')),
    key TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 0,
    -- How often something of its Ponds was written outside of a step: what is remembered of them is void then, too.
    edits INTEGER NOT NULL DEFAULT 0,
    state TEXT,
    owner INTEGER,
    token TEXT,
    epoch INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,
    halted TEXT,
    moved INTEGER REFERENCES actors,
    UNIQUE (environment, kind, key)
);

CREATE TABLE ponds (
    id INTEGER PRIMARY KEY,
    actor INTEGER NOT NULL REFERENCES actors,
    environment INTEGER NOT NULL REFERENCES environments,
    name TEXT NOT NULL,
    major INTEGER NOT NULL,
    project TEXT NOT NULL,
    state TEXT NOT NULL,
    definition INTEGER NOT NULL REFERENCES definitions,
    -- Ancestors whose Run each Run of this Pond remembers, because a diamond below compares them.
    tracks TEXT NOT NULL DEFAULT '[]',
    -- For a Pond that only shows one of an environment above: that one.
    borrows INTEGER REFERENCES ponds,
    removed_at INTEGER
);
-- A removed Pond keeps its row and its Runs; deployed again it is a new one.
CREATE UNIQUE INDEX ponds_deployed ON ponds (environment, name, major) WHERE removed_at IS NULL;
CREATE INDEX ponds_removed ON ponds (environment, name, major) WHERE removed_at IS NOT NULL;
CREATE INDEX ponds_borrowed ON ponds (borrows) WHERE borrows IS NOT NULL AND removed_at IS NULL;
CREATE INDEX ponds_of_actor ON ponds (actor);

-- Who reads whom, for the way down: a Source need not be deployed yet.
CREATE TABLE pond_sources (
    pond INTEGER NOT NULL REFERENCES ponds,
    environment INTEGER NOT NULL,
    source_name TEXT NOT NULL,
    source_major INTEGER NOT NULL,
    PRIMARY KEY (pond, source_name, source_major)
);
CREATE INDEX pond_sinks ON pond_sources (environment, source_name, source_major, pond);

CREATE TABLE signals (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    actor INTEGER NOT NULL REFERENCES actors,
    kind TEXT NOT NULL,
    pond TEXT,
    payload TEXT NOT NULL,
    due_at INTEGER NOT NULL
);
CREATE INDEX signals_of_actor ON signals (actor, due_at);
CREATE INDEX signals_due ON signals (due_at);
-- One timer for each Pond: a later one replaces it.
CREATE UNIQUE INDEX signals_timer ON signals (actor, pond) WHERE kind = 'tick';

CREATE TABLE advancements (
    id INTEGER PRIMARY KEY,
    actor INTEGER NOT NULL REFERENCES actors,
    at INTEGER NOT NULL,
    process INTEGER,
    signals TEXT NOT NULL,
    touched TEXT NOT NULL,
    effects TEXT NOT NULL,
    error TEXT
);
CREATE INDEX advancements_of_actor ON advancements (actor, id);

-- A part of what a Pond has published, to be computed again chunk by chunk; the actor sends one at a time.
CREATE TABLE backfills (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    environment INTEGER NOT NULL REFERENCES environments,
    actor INTEGER NOT NULL UNIQUE REFERENCES actors,
    pond INTEGER NOT NULL REFERENCES ponds,
    state TEXT NOT NULL CHECK (state IN ('running', 'paused', 'completed', 'failed', 'cancelled')),
    -- Why it is paused, or was cancelled.
    reason TEXT NOT NULL DEFAULT '',
    -- What decides what its chunks give: a deploy of other code lets it wait until somebody says that it goes on.
    code TEXT NOT NULL,
    -- The columns that its partitions are by.
    columns TEXT NOT NULL,
    -- What was asked for, as words of the command line.
    request TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    stops INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    ended_at INTEGER
);
CREATE INDEX backfills_open ON backfills (pond) WHERE ended_at IS NULL;
CREATE INDEX backfills_newest ON backfills (environment, id);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    backfill INTEGER NOT NULL REFERENCES backfills,
    number INTEGER NOT NULL,
    partitions TEXT NOT NULL,
    -- `sent`: its Pond has it, and says how it ended.
    state TEXT NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'sent', 'completed', 'failed', 'cancelled')),
    error TEXT,
    ended_at INTEGER,
    UNIQUE (backfill, number)
);
CREATE INDEX chunks_in_state ON chunks (backfill, state, number);

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    environment INTEGER NOT NULL REFERENCES environments,
    actor INTEGER NOT NULL REFERENCES actors,
    pond INTEGER REFERENCES ponds,
    number INTEGER NOT NULL,
    freshness INTEGER NOT NULL,
    delay INTEGER NOT NULL,
    definition INTEGER NOT NULL REFERENCES definitions,
    pins TEXT NOT NULL,
    ancestry TEXT NOT NULL DEFAULT '{}',
    outputs_digest TEXT,
    is_forced INTEGER NOT NULL DEFAULT 0,
    -- Asked to compute everything anew, not only what changed.
    is_full INTEGER NOT NULL DEFAULT 0,
    is_spliced INTEGER NOT NULL DEFAULT 0,
    -- The nearest Runs above, on each way, that are spliced themselves: `board@1#31`.
    spliced_from TEXT NOT NULL DEFAULT '[]',
    rollback_of INTEGER REFERENCES runs,
    -- The Run of another environment whose outputs this one shows: borrowed from above, or promoted.
    origin INTEGER REFERENCES runs,
    -- The chunk of a backfill that it computes.
    chunk INTEGER REFERENCES chunks,
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    error TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    -- It is not kept for its own sake any more: it goes when nobody else needs it.
    thinned_at INTEGER,
    -- When somebody first read its tables through a door; null while nobody has.
    read_at INTEGER,
    UNIQUE (pond, number)
);
CREATE INDEX runs_completed ON runs (pond, id) WHERE state = 'completed';
-- `ended_at` is in it so that SQLite, which keeps no statistics, prefers it to runs_newest.
CREATE INDEX runs_open ON runs (environment, ended_at, id) WHERE ended_at IS NULL;
CREATE INDEX runs_newest ON runs (environment, id);
CREATE INDEX runs_thinned ON runs (id) WHERE thinned_at IS NOT NULL;
CREATE INDEX runs_of_chunk ON runs (chunk) WHERE chunk IS NOT NULL;
CREATE INDEX runs_shown_elsewhere ON runs (origin) WHERE origin IS NOT NULL;
CREATE INDEX runs_gone_back_to ON runs (rollback_of) WHERE rollback_of IS NOT NULL;

-- What is left of Runs that are gone: those that ended in one hour, packed (`ledger/data/past.py`).
CREATE TABLE run_past (
    pond INTEGER NOT NULL REFERENCES ponds,
    hour INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    packed BLOB NOT NULL,
    PRIMARY KEY (pond, hour)
);
CREATE INDEX run_past_old ON run_past (hour);

-- A job that a project has deployed. A file that is only run is stored as a definition, and has no row here.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    definition INTEGER NOT NULL REFERENCES definitions,
    archive TEXT NOT NULL,
    deployed_at INTEGER NOT NULL,
    UNIQUE (environment, name)
);

-- A run of a job: one actor, whose machine's rows are `run_rows`.
CREATE TABLE job_runs (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    environment INTEGER NOT NULL REFERENCES environments,
    actor INTEGER NOT NULL UNIQUE REFERENCES actors,
    job TEXT NOT NULL,
    definition INTEGER NOT NULL REFERENCES definitions,
    archive TEXT NOT NULL,
    context TEXT NOT NULL,
    resumed_from INTEGER REFERENCES job_runs,
    dispatch INTEGER,
    reason TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    code TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    -- A flow is a job that somebody built as data; `pondage flow` is about these.
    is_flow INTEGER NOT NULL DEFAULT 0,
    -- Somebody said that what it left behind may go before its retention is over.
    cleaned_at INTEGER,
    -- Of a flow: how long the longest of its extracts can be fetched after its end.
    kept_us INTEGER
);
CREATE INDEX job_runs_newest ON job_runs (environment, id);
CREATE INDEX job_runs_of_job ON job_runs (environment, job, id);
CREATE INDEX job_runs_of_code ON job_runs (archive);
CREATE INDEX job_runs_resumed ON job_runs (resumed_from) WHERE resumed_from IS NOT NULL;
CREATE INDEX job_runs_of_dispatch ON job_runs (dispatch) WHERE dispatch IS NOT NULL;

-- Components, edges, sub-jobs, scopes, iterations, views and versions of a run, each written only when it changes.
CREATE TABLE run_rows (
    actor INTEGER NOT NULL REFERENCES actors,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (actor, kind, key)
) WITHOUT ROWID;

CREATE TABLE datasets (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    pond INTEGER NOT NULL REFERENCES ponds,
    ripple TEXT NOT NULL,
    UNIQUE (pond, ripple)
);

CREATE TABLE queues (
    id INTEGER PRIMARY KEY,
    code TEXT NOT NULL,
    pool TEXT NOT NULL,
    labels TEXT NOT NULL,
    -- What an execution runs, the sizes of memory that it may have, how many one worker takes at a time, and how many
    -- workers there may be: `ledger/queues.py`.
    components TEXT NOT NULL DEFAULT '',
    memory TEXT NOT NULL DEFAULT '',
    concurrency INTEGER NOT NULL DEFAULT 0,
    least INTEGER NOT NULL DEFAULT 0,
    most INTEGER NOT NULL DEFAULT 0,
    -- The code that may claim: another one than that which the work was made for when somebody bound it to that.
    served_by TEXT NOT NULL,
    -- The processes that may claim, as `processes.role` names them: questions are never in one with work.
    role TEXT NOT NULL DEFAULT 'worker',
    UNIQUE (code, pool, labels, components, memory, role)
);
CREATE INDEX queues_served ON queues (served_by);

CREATE TABLE dispatches (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    actor INTEGER REFERENCES actors,
    run INTEGER REFERENCES runs,
    dataset INTEGER REFERENCES datasets,
    kind TEXT NOT NULL CHECK (
        kind IN ('ripple', 'component', 'fire', 'graph', 'stream', 'query', 'sample', 'infer', 'compact')
    ),
    node TEXT NOT NULL,
    number INTEGER NOT NULL,
    freshness INTEGER,
    queue INTEGER NOT NULL REFERENCES queues,
    priority INTEGER NOT NULL,
    inputs TEXT NOT NULL,
    digest TEXT,
    timeout_s REAL,
    crash_budget INTEGER NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    outcome TEXT,
    result TEXT,
    created_at INTEGER NOT NULL,
    closed_at INTEGER,
    -- Its component was asked to close its outputs and return.
    stopped_at INTEGER,
    -- Its run was killed: no execution follows the one that is open.
    is_last INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX dispatches_of_run ON dispatches (run, node, number);
CREATE INDEX dispatches_failed ON dispatches (dataset, id) WHERE outcome = 'failed';
CREATE INDEX dispatches_compacting ON dispatches (dataset) WHERE kind = 'compact';
CREATE INDEX dispatches_open ON dispatches (dataset, number) WHERE outcome IS NULL;
CREATE INDEX dispatches_of_job ON dispatches (actor, node, number) WHERE kind = 'component';
CREATE INDEX dispatches_of_reactor ON dispatches (actor, id) WHERE kind IN ('graph', 'stream');
-- Questions, which have no Run: what retention goes through.
CREATE INDEX dispatches_asked ON dispatches (id) WHERE run IS NULL AND actor IS NULL;

CREATE TABLE processes (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    machine TEXT NOT NULL,
    boot TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_started INTEGER NOT NULL,
    role TEXT NOT NULL,
    labels TEXT NOT NULL DEFAULT '',
    slots INTEGER NOT NULL DEFAULT 0,
    code TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL DEFAULT '',
    -- Where a live host listens.
    address TEXT NOT NULL DEFAULT '',
    -- What whoever connects to it from another machine must know.
    secret TEXT NOT NULL DEFAULT '',
    registered_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    dead_at INTEGER
);
CREATE INDEX processes_alive ON processes (heartbeat_at) WHERE dead_at IS NULL;
CREATE INDEX processes_dead ON processes (dead_at) WHERE dead_at IS NOT NULL;

CREATE TABLE executions (
    id INTEGER PRIMARY KEY,
    dispatch INTEGER NOT NULL REFERENCES dispatches,
    token TEXT,
    -- No foreign key: a dead process goes by its age, and the newest Runs of a Pond may be older than that.
    process INTEGER,
    epoch INTEGER NOT NULL,
    is_isolated INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    claimed_at INTEGER,
    completed_at INTEGER,
    healthy_until INTEGER,
    -- What runs out then: TIMEOUT or NO_PROGRESS.
    lease TEXT,
    outcome TEXT,
    error TEXT,
    progress TEXT
);
CREATE UNIQUE INDEX executions_token ON executions (token) WHERE token IS NOT NULL;
-- At most one execution of a dispatch is open; one index finds all of them and keeps that.
CREATE UNIQUE INDEX executions_of_dispatch
    ON executions (dispatch, (CASE WHEN completed_at IS NULL THEN 0 ELSE id END));
CREATE INDEX executions_leased ON executions (healthy_until) WHERE completed_at IS NULL AND healthy_until IS NOT NULL;
CREATE INDEX executions_held ON executions (process) WHERE completed_at IS NULL AND process IS NOT NULL;

CREATE TABLE availabilities (
    execution INTEGER PRIMARY KEY REFERENCES executions,
    queue INTEGER NOT NULL REFERENCES queues,
    priority INTEGER NOT NULL,
    is_isolated INTEGER NOT NULL DEFAULT 0,
    available_at INTEGER NOT NULL
);
CREATE INDEX availabilities_next ON availabilities (queue, priority, available_at, execution);

CREATE TABLE snapshots (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    dataset INTEGER NOT NULL REFERENCES datasets,
    run INTEGER NOT NULL REFERENCES runs,
    execution INTEGER NOT NULL UNIQUE REFERENCES executions,
    freshness INTEGER NOT NULL,
    kind TEXT NOT NULL,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    inputs TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    tombstoned_at INTEGER,
    swept_at INTEGER
);
CREATE INDEX snapshots_newest ON snapshots (dataset, id);
CREATE INDEX snapshots_of_run ON snapshots (run);
-- Few Ponds grow: for the others it is empty.
CREATE INDEX snapshots_growing ON snapshots (dataset) WHERE kind IN ('append', 'merge', 'partition');
CREATE INDEX snapshots_marked ON snapshots (tombstoned_at) WHERE tombstoned_at IS NOT NULL AND swept_at IS NULL;

-- Tables that grow: which snapshot a batch extends. Without a parent a table begins, and nobody can follow across it.
CREATE TABLE batches (
    snapshot INTEGER PRIMARY KEY REFERENCES snapshots,
    parent INTEGER,
    number INTEGER NOT NULL
);
-- The snapshots whose files make up the table of a snapshot. A compaction adds a newer one with the same rows.
CREATE TABLE manifests (
    id INTEGER PRIMARY KEY,
    snapshot INTEGER NOT NULL REFERENCES snapshots,
    members TEXT NOT NULL,
    -- Of a table in partitions: the pages that say where the files of each are.
    pages TEXT NOT NULL,
    -- How many of them are small: what a compaction is for.
    small INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
CREATE INDEX manifests_newest ON manifests (snapshot, id);
CREATE INDEX manifests_fragmented ON manifests (id) WHERE small > 64;
-- Some partitions of a table. Never changed; the manifests before and after a Run share those it did not touch.
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    entries TEXT NOT NULL
);

CREATE TABLE run_outputs (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs,
    pond INTEGER NOT NULL REFERENCES ponds,
    node TEXT NOT NULL,
    freshness INTEGER NOT NULL,
    snapshot INTEGER NOT NULL REFERENCES snapshots
);
CREATE INDEX run_outputs_of_run ON run_outputs (run, node);
CREATE INDEX run_outputs_choice ON run_outputs (pond, node, freshness, id);
CREATE INDEX run_outputs_of_snapshot ON run_outputs (snapshot);

-- What the components of a run wrote. A resumed run has rows of its own for the files that it takes over.
CREATE TABLE run_tables (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES job_runs,
    instance TEXT NOT NULL,
    component TEXT NOT NULL,
    port TEXT NOT NULL,
    execution INTEGER NOT NULL REFERENCES executions,
    path TEXT NOT NULL,
    content TEXT NOT NULL,
    digest TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    tombstoned_at INTEGER,
    -- Of what can be extracted: how long after the end of the run, whatever the retention of runs is.
    kept_us INTEGER,
    UNIQUE (run, instance, port)
);
CREATE INDEX run_tables_gathered ON run_tables (run, component, port);
CREATE INDEX run_tables_at ON run_tables (path);
CREATE INDEX run_tables_of_execution ON run_tables (execution);
CREATE INDEX run_tables_marked ON run_tables (tombstoned_at) WHERE tombstoned_at IS NOT NULL;

-- The streams of a run: what an instance put out, segment by segment, each committed under the token of its execution.
CREATE TABLE segments (
    run INTEGER NOT NULL REFERENCES job_runs,
    instance TEXT NOT NULL,
    port TEXT NOT NULL,
    seq INTEGER NOT NULL,
    execution INTEGER NOT NULL REFERENCES executions,
    ref TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    is_eos INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (run, instance, port, seq)
);
CREATE INDEX segments_of_execution ON segments (execution, seq);
-- How far each reader of a stream is. `is_waited`: it waits for the next segment; `is_blocking`: the writer waits for it.
CREATE TABLE cursors (
    run INTEGER NOT NULL REFERENCES job_runs,
    instance TEXT NOT NULL,
    port TEXT NOT NULL,
    reader TEXT NOT NULL,
    reader_port TEXT NOT NULL,
    execution INTEGER,
    seq INTEGER NOT NULL DEFAULT 0,
    max_rows INTEGER,
    max_bytes INTEGER,
    is_waited INTEGER NOT NULL DEFAULT 0,
    is_blocking INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    PRIMARY KEY (run, instance, port, reader, reader_port)
) WITHOUT ROWID;

-- What the columns of a table are made of, once for each code and each schema of its inputs.
CREATE TABLE column_lineage (
    dataset INTEGER NOT NULL REFERENCES datasets,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (dataset, key)
);

-- Lists of files that lie beside the data and that a snapshot needs: which files its table has taken.
CREATE TABLE snapshot_lists (
    snapshot INTEGER NOT NULL REFERENCES snapshots,
    name TEXT NOT NULL,
    PRIMARY KEY (snapshot, name)
);
CREATE INDEX snapshot_lists_by_name ON snapshot_lists (name);

-- Files that somebody wants to be taken again by the next Run.
CREATE TABLE forgotten_files (
    id INTEGER PRIMARY KEY,
    dataset INTEGER NOT NULL REFERENCES datasets,
    path TEXT NOT NULL,
    forgotten_at INTEGER NOT NULL
);
CREATE INDEX forgotten_files_of_dataset ON forgotten_files (dataset, id);

-- Up to where a Ripple of a Run reads something outside: decided once, so that whoever tries again reads the same.
CREATE TABLE decisions (
    run INTEGER NOT NULL REFERENCES runs,
    node TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (run, node, name)
);

CREATE TABLE pools (
    name TEXT PRIMARY KEY,
    size INTEGER NOT NULL
);
CREATE TABLE pool_slots (
    pool TEXT NOT NULL,
    n INTEGER NOT NULL,
    execution INTEGER UNIQUE REFERENCES executions,
    PRIMARY KEY (pool, n)
);

CREATE TABLE schedules (
    id INTEGER PRIMARY KEY,
    pond INTEGER REFERENCES ponds,
    job INTEGER UNIQUE REFERENCES jobs,
    name TEXT NOT NULL,
    cron TEXT NOT NULL,
    tz TEXT NOT NULL,
    catch_up TEXT NOT NULL,
    next_at INTEGER NOT NULL,
    UNIQUE (pond, name),
    CHECK ((pond IS NULL) <> (job IS NULL))
);
CREATE INDEX schedules_due ON schedules (next_at);

-- Passwords and the like, encrypted with a key that is not in the database.
CREATE TABLE secrets (
    environment INTEGER NOT NULL REFERENCES environments,
    name TEXT NOT NULL,
    sealed BLOB NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (environment, name)
);

-- Who may use the server. Only the sha256 of a token is kept; `environments` is a JSON list, ["*"] for all.
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    level TEXT NOT NULL CHECK (level IN ('read', 'demand', 'operate', 'admin')),
    environments TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
);

CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    available_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    done_at INTEGER
);
CREATE INDEX outbox_waiting ON outbox (available_at) WHERE done_at IS NULL;

-- What somebody was told of: one row for each root cause and rule, open until it is over.
CREATE TABLE alerts (
    id INTEGER PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    environment INTEGER NOT NULL REFERENCES environments,
    rule TEXT NOT NULL,
    kind TEXT NOT NULL,
    cause TEXT NOT NULL,
    trouble TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    resolved_at INTEGER
);
CREATE UNIQUE INDEX alerts_open ON alerts (environment, rule, kind, cause) WHERE resolved_at IS NULL;
CREATE INDEX alerts_newest ON alerts (environment, id);

CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    pond TEXT,
    run TEXT,
    payload TEXT NOT NULL
);
CREATE INDEX history_newest ON history (environment, id);

CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    environment INTEGER NOT NULL REFERENCES environments,
    at INTEGER NOT NULL,
    who TEXT NOT NULL,
    verb TEXT NOT NULL,
    target TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    -- The code of why it was refused; null for what was done.
    refused TEXT
);

-- What a standing trigger that follows its readers has learned of them; `last_read` is the latest that it was told of.
CREATE TABLE profiles (
    pond INTEGER NOT NULL REFERENCES ponds,
    "trigger" TEXT NOT NULL,
    body TEXT NOT NULL,
    last_read INTEGER NOT NULL,
    PRIMARY KEY (pond, "trigger")
) WITHOUT ROWID;

-- The Run of a Pond with `reading="tap"` that was asked for more last: the first reader of each asks, and no other.
CREATE TABLE tapped (
    pond INTEGER PRIMARY KEY REFERENCES ponds,
    run INTEGER NOT NULL
);
-- Questions that wait for a Run as fresh as `moment`; each is answered `until` then at the latest, with what is there.
CREATE TABLE awaited (
    dispatch INTEGER NOT NULL,
    pond INTEGER NOT NULL,
    moment INTEGER NOT NULL,
    until INTEGER NOT NULL,
    PRIMARY KEY (pond, dispatch)
) WITHOUT ROWID;
CREATE INDEX awaited_by ON awaited (dispatch);

-- The read log: who read which Pond, in which minute (since 1970), through which door; `age` is the sum of the ages.
-- It never has the text of a question. After a week a quarter of an hour is one row.
CREATE TABLE reads (
    environment INTEGER NOT NULL REFERENCES environments,
    pond TEXT NOT NULL,
    minute INTEGER NOT NULL,
    door TEXT NOT NULL,
    reader TEXT NOT NULL,
    count INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    age INTEGER NOT NULL,
    PRIMARY KEY (environment, pond, minute, door, reader)
);
CREATE INDEX reads_minute ON reads (minute);
CREATE INDEX reads_fine ON reads (minute) WHERE minute % 15 <> 0;

-- What a process outside of the queue reads just now (ids of snapshots): kept while it beats, or until `held_until`.
CREATE TABLE read_leases (
    id INTEGER PRIMARY KEY,
    holder TEXT NOT NULL,
    snapshots TEXT NOT NULL,
    boot TEXT NOT NULL,
    alive_until INTEGER NOT NULL,
    held_until INTEGER
);

-- A deployed reactor. Its actor row holds the lease (owner, token, epoch); on PostgreSQL `version` counts the commits of
-- its journal and `state` is the declaration that the journal was written under. On SQLite the journal is a file beside
-- the ledger, and its rows for the ledger come by `carried`: (seq, place) of the last one that has arrived.
CREATE TABLE reactors (
    actor INTEGER PRIMARY KEY REFERENCES actors,
    environment INTEGER NOT NULL REFERENCES environments,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    declaration TEXT NOT NULL,
    entry TEXT NOT NULL,
    digest TEXT NOT NULL,
    basis TEXT NOT NULL DEFAULT '',
    code TEXT NOT NULL,
    host TEXT NOT NULL,
    jobs TEXT NOT NULL DEFAULT '[]',
    health TEXT NOT NULL DEFAULT '',
    carried_seq INTEGER NOT NULL DEFAULT 0,
    carried_place INTEGER NOT NULL DEFAULT 0,
    -- How often a host died while code of this reactor was called, lately: from the second time it has one of its own.
    deaths INTEGER NOT NULL DEFAULT 0,
    died_at INTEGER,
    -- What does not go on now, why ({"item", "error"}), and since when.
    stuck TEXT,
    stuck_at INTEGER,
    deployed_at INTEGER NOT NULL,
    removed_at INTEGER
);
CREATE INDEX reactors_of_environment ON reactors (environment);
CREATE TABLE reactor_log (
    reactor INTEGER NOT NULL REFERENCES actors,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    records BLOB NOT NULL,
    PRIMARY KEY (reactor, seq)
);
-- What graphs gave, until the Pond of their reactor is published with it; and the publications that are due.
CREATE TABLE reactor_results (
    reactor INTEGER NOT NULL REFERENCES actors,
    fire INTEGER NOT NULL,
    graph TEXT NOT NULL,
    rows TEXT NOT NULL,
    is_ok INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (reactor, fire, graph)
);
CREATE TABLE reactor_publications (
    id INTEGER PRIMARY KEY,
    reactor INTEGER NOT NULL REFERENCES actors,
    freshness INTEGER NOT NULL,
    delay INTEGER NOT NULL,
    fire INTEGER
);
CREATE INDEX reactor_publications_due ON reactor_publications (reactor, id);
-- Dead letters that the ledger keeps: results and items of a journal that were put aside, with what was in them.
CREATE TABLE reactor_letters (
    reactor INTEGER NOT NULL REFERENCES actors,
    id TEXT NOT NULL,
    error TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (reactor, id)
);
-- What Spark reads for an accumulator: the place of its checkpoint, and the last batch whose boundary was handed over.
CREATE TABLE reactor_streams (
    reactor INTEGER NOT NULL REFERENCES actors,
    source TEXT NOT NULL,
    place TEXT NOT NULL,
    query TEXT NOT NULL DEFAULT '',
    batch INTEGER NOT NULL DEFAULT -1,
    PRIMARY KEY (reactor, source)
);
-- Good fires whose jobs were not decided yet, in order; one with an error is a dead letter.
CREATE TABLE reactor_fires (
    reactor INTEGER NOT NULL REFERENCES actors,
    fire INTEGER NOT NULL,
    inputs TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    PRIMARY KEY (reactor, fire)
);
CREATE INDEX actors_owned ON actors (owner) WHERE owner IS NOT NULL;
