-- The first schema. Words with @ are replaced for each database (migrate.c): @id is a number that
-- the database gives, @clustered a table kept in the order of its primary key where there is such
-- a thing. Times are Unix milliseconds. Counters named run_count count listed runs: public and
-- flagged ones.

CREATE TABLE tally ( -- sums that would take a scan; 'version' grows with every visible change
    name @text PRIMARY KEY,
    n @int NOT NULL
) @strict;
INSERT INTO tally (name, n) VALUES
    ('version', 1), ('cells', 0), ('users', 0), ('admins', 0),
    ('draft', 0), ('public', 0), ('flagged', 0), ('withdrawn', 0);

CREATE TABLE users (
    id @id,
    name @text NOT NULL,
    name_key @text NOT NULL UNIQUE, -- lower case
    password @text, -- Argon2id; NULL: cannot sign in
    admin @int NOT NULL DEFAULT 0,
    disabled @int NOT NULL DEFAULT 0,
    created_ms @int NOT NULL,
    run_count @int NOT NULL DEFAULT 0,
    key_count @int NOT NULL DEFAULT 0
) @strict;

CREATE TABLE session (
    id @id,
    token_hash @blob NOT NULL UNIQUE,
    user_id @int NOT NULL REFERENCES users(id) ON DELETE CASCADE,
    created_ms @int NOT NULL,
    expires_ms @int NOT NULL
) @strict;
CREATE INDEX session_of_user ON session(user_id);
CREATE INDEX session_expires ON session(expires_ms);

CREATE TABLE api_key (
    id @id,
    user_id @int NOT NULL REFERENCES users(id) ON DELETE CASCADE,
    label @text NOT NULL,
    prefix @text NOT NULL,
    key_hash @blob NOT NULL UNIQUE,
    created_ms @int NOT NULL,
    used_ms @int NOT NULL DEFAULT 0
) @strict;
CREATE INDEX api_key_user ON api_key(user_id);

CREATE TABLE device_login (
    id @id,
    device_hash @blob NOT NULL UNIQUE,
    user_code @text NOT NULL UNIQUE,
    label @text NOT NULL,
    created_ms @int NOT NULL,
    expires_ms @int NOT NULL,
    polled_ms @int NOT NULL DEFAULT 0,
    decision @int NOT NULL DEFAULT 0, -- 1 approved, 2 denied
    user_id @int REFERENCES users(id) ON DELETE CASCADE
) @strict;
CREATE INDEX device_login_expires ON device_login(expires_ms);
CREATE INDEX device_login_user ON device_login(user_id);

-- What runs are grouped by. `single` and `total` are the best of their listed
-- runs in tok/s, simulated ones left out; 0: none.
CREATE TABLE organization (
    id @id,
    name @text NOT NULL,
    key @text NOT NULL UNIQUE,
    run_count @int NOT NULL DEFAULT 0,
    single @real NOT NULL DEFAULT 0,
    total @real NOT NULL DEFAULT 0,
    last_run_ms @int NOT NULL DEFAULT 0
) @strict;

CREATE TABLE base ( -- a model with its repackagings
    id @id,
    name @text NOT NULL,
    key @text NOT NULL UNIQUE,
    run_count @int NOT NULL DEFAULT 0,
    single @real NOT NULL DEFAULT 0,
    total @real NOT NULL DEFAULT 0,
    last_run_ms @int NOT NULL DEFAULT 0
) @strict;

CREATE TABLE model (
    id @id,
    name @text NOT NULL,
    key @text NOT NULL UNIQUE,
    base_id @int NOT NULL REFERENCES base(id),
    organization_id @int REFERENCES organization(id),
    run_count @int NOT NULL DEFAULT 0,
    single @real NOT NULL DEFAULT 0,
    total @real NOT NULL DEFAULT 0,
    last_run_ms @int NOT NULL DEFAULT 0
) @strict;
CREATE INDEX model_base ON model(base_id);
CREATE INDEX model_organization ON model(organization_id);

CREATE TABLE hardware (
    id @id,
    slug @text NOT NULL UNIQUE,
    title @text NOT NULL,
    class @text NOT NULL,
    name @text NOT NULL,
    card @text NOT NULL, -- slug of one of it
    gpus @int NOT NULL,
    memory_gb @int NOT NULL,
    run_count @int NOT NULL DEFAULT 0,
    single @real NOT NULL DEFAULT 0,
    total @real NOT NULL DEFAULT 0,
    last_run_ms @int NOT NULL DEFAULT 0
) @strict;
CREATE INDEX hardware_card ON hardware(card);

CREATE TABLE engine (
    id @id,
    name @text NOT NULL,
    key @text NOT NULL UNIQUE,
    run_count @int NOT NULL DEFAULT 0
) @strict;

CREATE TABLE quantization (
    id @id,
    name @text NOT NULL,
    key @text NOT NULL UNIQUE,
    run_count @int NOT NULL DEFAULT 0
) @strict;

CREATE INDEX organization_runs ON organization(run_count, id);
CREATE INDEX organization_name ON organization(name, id);
CREATE INDEX organization_newest ON organization(last_run_ms, id);
CREATE INDEX organization_speed ON organization(single, id);
CREATE INDEX base_runs ON base(run_count, id);
CREATE INDEX base_name ON base(name, id);
CREATE INDEX base_newest ON base(last_run_ms, id);
CREATE INDEX base_speed ON base(single, id);
CREATE INDEX hardware_runs ON hardware(run_count, id);
CREATE INDEX hardware_name ON hardware(slug, id);
CREATE INDEX hardware_newest ON hardware(last_run_ms, id);
CREATE INDEX hardware_speed ON hardware(single, id);
CREATE INDEX engine_runs ON engine(run_count, id);
CREATE INDEX quantization_runs ON quantization(run_count, id);

CREATE TABLE run (
    id @id,
    uid @text NOT NULL UNIQUE,
    state @int NOT NULL, -- enum store_run_state
    listed @int NOT NULL, -- 1: public or flagged
    waiting @int NOT NULL DEFAULT 0, -- 1: in the moderators' queue
    verified @int NOT NULL DEFAULT 0,
    revision @int NOT NULL,
    created_ms @int NOT NULL,
    updated_ms @int NOT NULL,
    owner_id @int NOT NULL REFERENCES users(id),
    document_id @text NOT NULL, -- its own id, or its digest
    document_digest @text NOT NULL,
    document_bytes @int NOT NULL,
    model_id @int NOT NULL REFERENCES model(id),
    base_id @int NOT NULL REFERENCES base(id),
    organization_id @int REFERENCES organization(id),
    hardware_id @int NOT NULL REFERENCES hardware(id),
    card @text NOT NULL,
    class @text NOT NULL,
    engine_id @int REFERENCES engine(id),
    quantization_id @int REFERENCES quantization(id),
    engine_version @text,
    backend @text,
    kind @text NOT NULL,
    tool @text,
    title @text NOT NULL,
    measured_at @text,
    launch_command @text,
    single @real NOT NULL, -- the best valid cells; 0: none
    total @real NOT NULL,
    prefill @real,
    ttft @real,
    cell_count @int NOT NULL,
    valid_count @int NOT NULL,
    flag_count @int NOT NULL DEFAULT 0,
    report_count @int NOT NULL DEFAULT 0, -- open ones
    UNIQUE (owner_id, document_id)
) @strict;
CREATE INDEX run_digest ON run(owner_id, document_digest);
CREATE INDEX run_owner ON run(owner_id, id);
CREATE INDEX run_newest ON run(listed, id);
CREATE INDEX run_fastest ON run(listed, total, id);
CREATE INDEX run_model ON run(model_id, listed, id);
CREATE INDEX run_base ON run(base_id, listed, id);
CREATE INDEX run_organization ON run(organization_id, listed, id);
CREATE INDEX run_hardware ON run(hardware_id, listed, id);
CREATE INDEX run_card ON run(card, listed, id);
CREATE INDEX run_engine ON run(engine_id, listed, id);
CREATE INDEX run_quantization ON run(quantization_id, listed, id);
CREATE INDEX run_waiting ON run(id) WHERE waiting = 1;

CREATE TABLE document ( -- every revision's exact bytes
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    revision @int NOT NULL,
    author_id @int REFERENCES users(id),
    created_ms @int NOT NULL,
    note @text,
    digest @text NOT NULL, -- BLAKE2b-256 of the bytes, hex
    bytes @int NOT NULL,
    body @blob NOT NULL, -- zstd
    PRIMARY KEY (run_id, revision)
) @strict;
CREATE INDEX document_author ON document(author_id);

CREATE TABLE flag (
    id @id,
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    code @text NOT NULL,
    text @text NOT NULL,
    context_tokens @int NOT NULL, -- -1: the run
    concurrency @int NOT NULL
) @strict;
CREATE INDEX flag_run ON flag(run_id);

CREATE TABLE cell ( -- concurrency 0: a prefill row
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    context_tokens @int NOT NULL,
    concurrency @int NOT NULL,
    status @int NOT NULL, -- enum cell_status
    marks @int NOT NULL,
    flagged @int NOT NULL,
    ranked @int NOT NULL, -- may stand on a board
    total @real,
    per_request @real,
    ttft @real,
    itl @real,
    active @real,
    per_joule @real,
    PRIMARY KEY (run_id, context_tokens, concurrency)
) @clustered;

-- Boards. A point is where a class of metric is ranked; context -1 and concurrency 0 stand for any
-- (classes without a concurrency have 0 as well).
-- Each run has at most one row at a point: its best cell there. A score is the value, negated where
-- less is better.
CREATE TABLE point (
    id @id,
    simulated @int NOT NULL,
    metric @int NOT NULL, -- enum store_metric
    context_tokens @int NOT NULL,
    concurrency @int NOT NULL,
    UNIQUE (simulated, metric, context_tokens, concurrency)
) @strict;

CREATE TABLE board (
    point_id @int NOT NULL REFERENCES point(id),
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    score @real NOT NULL,
    context_tokens @int NOT NULL, -- of the cell
    concurrency @int NOT NULL,
    base_id @int NOT NULL,
    model_id @int NOT NULL,
    organization_id @int,
    hardware_id @int NOT NULL,
    card @text NOT NULL,
    class @text NOT NULL,
    engine_id @int,
    quantization_id @int,
    kind @text NOT NULL,
    verified @int NOT NULL,
    PRIMARY KEY (point_id, run_id)
) @clustered;
CREATE INDEX board_run ON board(run_id);
CREATE INDEX board_score ON board(point_id, score, run_id);
CREATE INDEX board_base ON board(base_id, point_id, score, run_id);
CREATE INDEX board_card ON board(card, point_id, score, run_id);
CREATE INDEX board_organization ON board(organization_id, point_id, score, run_id);

-- The best run of each base model on each hardware, simulated ones apart.
CREATE TABLE best (
    base_id @int NOT NULL REFERENCES base(id),
    hardware_id @int NOT NULL REFERENCES hardware(id),
    point_id @int NOT NULL REFERENCES point(id), -- any context, any concurrency
    score @real NOT NULL,
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    PRIMARY KEY (point_id, base_id, hardware_id)
) @clustered;
CREATE INDEX best_hardware ON best(hardware_id, point_id, score);
CREATE INDEX best_base ON best(base_id, point_id, score);
CREATE INDEX best_run ON best(run_id);

CREATE TABLE search_entry (
    id @id,
    kind @int NOT NULL, -- enum store_found_kind
    key @text NOT NULL,
    title @text NOT NULL,
    words @text NOT NULL, -- search_words.h
    weight @int NOT NULL DEFAULT 0, -- listed runs
    UNIQUE (kind, key)
) @strict;

CREATE TABLE setup (
    id @id,
    user_id @int NOT NULL REFERENCES users(id) ON DELETE CASCADE,
    name @text NOT NULL,
    body @text NOT NULL,
    is_default @int NOT NULL,
    updated_ms @int NOT NULL,
    UNIQUE (user_id, name)
) @strict;

CREATE TABLE replay (
    user_id @int NOT NULL,
    key @text NOT NULL,
    request_hash @blob NOT NULL,
    status @int NOT NULL DEFAULT 0,
    body @text,
    created_ms @int NOT NULL,
    PRIMARY KEY (user_id, key)
) @strict;
CREATE INDEX replay_created ON replay(created_ms);

CREATE TABLE rate ( -- a bucket is full again at that time, in microseconds
    key @text PRIMARY KEY,
    full_us @int NOT NULL
) @strict;
CREATE INDEX rate_full ON rate(full_us);

CREATE TABLE report (
    id @id,
    run_id @int NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    reporter_id @int REFERENCES users(id),
    reason @text NOT NULL,
    text @text NOT NULL,
    created_ms @int NOT NULL,
    resolved_ms @int NOT NULL DEFAULT 0,
    resolver_id @int REFERENCES users(id),
    resolution @text
) @strict;
CREATE INDEX report_run ON report(run_id, resolved_ms);
CREATE INDEX report_open ON report(id) WHERE resolved_ms = 0;
CREATE INDEX report_reporter ON report(reporter_id);
CREATE INDEX report_resolver ON report(resolver_id);

CREATE TABLE audit ( -- nothing is ever removed from it
    id @id,
    at_ms @int NOT NULL,
    user_id @int,
    address @text,
    action @text NOT NULL,
    target @text,
    detail @text
) @strict;
CREATE INDEX audit_target ON audit(target, id);
