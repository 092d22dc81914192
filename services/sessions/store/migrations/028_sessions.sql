-- The schema of the first release. Databases with earlier migrations, up to 27, are of versions before it, and are refused.
-- +goose Up
CREATE TABLE agents (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    deleted BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};

CREATE TABLE agent_revisions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    revision BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, id, revision)
){{strict}};

CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    title TEXT NOT NULL,
    labels TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    open_seq BIGINT NOT NULL,
    active_turn_id TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    forked_from_session TEXT NOT NULL DEFAULT '',
    forked_from_seq BIGINT NOT NULL DEFAULT 0,
    -- What models are shown of a conversation: about how large it is, and the event that last compacted it.
    context_bytes BIGINT NOT NULL DEFAULT 0,
    compacted_seq BIGINT NOT NULL DEFAULT 0,
    parent_session_id TEXT NOT NULL DEFAULT '',
    parent_turn_id TEXT NOT NULL DEFAULT '',
    -- The params of a session as JSON, '' when it has none.
    params TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX sessions_by_time ON sessions (tenant, create_us, id);
CREATE INDEX sessions_by_subject ON sessions (tenant, subject, create_us, id);
CREATE INDEX sessions_by_agent ON sessions (tenant, agent_id, create_us, id);
CREATE INDEX sessions_by_subject_agent ON sessions (tenant, subject, agent_id, create_us, id);

CREATE TABLE messages (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    turn_seq BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    -- Where a message stands in the conversation of its turn: at its seq, or behind what was said before anybody could read it.
    place BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, session_id, seq),
    UNIQUE (tenant, id)
){{strict}};
CREATE INDEX messages_by_turn ON messages (tenant, session_id, turn_seq, place, seq);

CREATE TABLE turns (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    status BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL,
    model TEXT NOT NULL,
    blueprint_revision BIGINT NOT NULL,
    deadline_us BIGINT NOT NULL,
    input_seq BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    dispatched_us BIGINT NOT NULL,
    check_us BIGINT NOT NULL,
    restarts BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    start_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    usage_data {{blob}},
    end_data {{blob}},
    trace_parent TEXT NOT NULL DEFAULT '',
    place BIGINT NOT NULL DEFAULT 0,
    urgent BIGINT NOT NULL DEFAULT 0,
    open_waits BIGINT NOT NULL DEFAULT 0,
    people_waits BIGINT NOT NULL DEFAULT 0,
    paused_us BIGINT NOT NULL DEFAULT 0,
    inputs BIGINT NOT NULL DEFAULT 0,
    rouse_us BIGINT NOT NULL DEFAULT 0,
    -- The agents above a sub-agent's turn and its own, separated by "/"; empty for the turn of a user.
    agent_path TEXT NOT NULL DEFAULT '',
    -- How many turns of sub-agents it began.
    children BIGINT NOT NULL DEFAULT 0,
    -- owner is the subject of the turn's session, so that the turns of a subject can be listed by an index.
    owner TEXT NOT NULL DEFAULT '',
    -- Credentials that came with the request of a turn, sealed for it; NULL = none, and from the turn's end on.
    provider_data {{blob}},
    -- 1: the tokens of the turn count towards the quotas of its tenant and user, which are kept as budgets of the scopes tenant_quota and
    -- user_quota.
    quota BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX turns_by_session ON turns (tenant, session_id, first_seq);
CREATE INDEX turns_by_time ON turns (tenant, create_us, id);
-- Turns that wait for people are left out: they neither count as under way nor can they be lost.
CREATE INDEX turns_open ON turns (dispatched_us) WHERE end_us = 0 AND paused_us = 0;
CREATE INDEX turns_to_rouse ON turns (rouse_us) WHERE rouse_us > 0;
-- A session's turns that are not over: looked for at the beginning and the end of each of its turns, of which it may have many.
CREATE INDEX turns_unended ON turns (tenant, session_id) WHERE end_us = 0;
-- Turns that may be worked on: active, not over, and waiting for nothing. Those among them that no worker has are looked for all the time.
CREATE INDEX turns_workable ON turns (create_us, id) WHERE end_us = 0 AND open_waits = 0 AND place < 4294967295;
CREATE INDEX turns_by_owner ON turns (tenant, owner, create_us, id);
-- By status: those that have ended get their entry once, and of the others there are few.
CREATE INDEX turns_ended_by_status ON turns (tenant, status, create_us, id) WHERE end_us > 0;
CREATE INDEX turns_ended_by_owner ON turns (tenant, owner, status, create_us, id) WHERE end_us > 0;
CREATE INDEX turns_unended_by_status ON turns (tenant, status, create_us, id) WHERE end_us = 0;

CREATE TABLE turn_inputs (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    input {{blob}} NOT NULL,
    principal {{blob}} NOT NULL,
    client_tools {{blob}},
    limits {{blob}},
    rerun {{blob}},
    -- The schedule that began a turn, '' for others.
    schedule_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, turn_id)
){{strict}};

CREATE TABLE turn_surfaces (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    surface {{blob}} NOT NULL,
    tools {{blob}} NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{strict}};

CREATE TABLE turn_journal (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    type TEXT NOT NULL,
    open_seq BIGINT NOT NULL,
    time_us BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
){{rowless}};

CREATE TABLE turn_steps (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    kind BIGINT NOT NULL,
    tool TEXT NOT NULL,
    owner TEXT NOT NULL,
    fence BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    done BIGINT NOT NULL,
    lease_expires_us BIGINT NOT NULL,
    started_us BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    message_id TEXT NOT NULL,
    outcome {{blob}},
    PRIMARY KEY (tenant, turn_id, step_key)
){{rowless}};
-- Leases that have run out are looked for all the time.
CREATE INDEX turn_steps_leased ON turn_steps (lease_expires_us) WHERE done = 0 AND lease_expires_us > 0;

CREATE TABLE turn_outbox (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    summary TEXT NOT NULL,
    again BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    claimed_until_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Turns that end before their workflow is started stay in the outbox, to be started when nothing else waits.
    ended BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};
CREATE INDEX turn_outbox_by_time ON turn_outbox (ended, create_us, turn_id);

CREATE TABLE turn_idempotency (
    tenant TEXT NOT NULL,
    subject TEXT NOT NULL,
    method TEXT NOT NULL,
    idem_key TEXT NOT NULL,
    request_hash TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    expires_us BIGINT NOT NULL,
    session_id TEXT NOT NULL DEFAULT '',
    message_id TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, subject, method, idem_key)
){{strict}};
CREATE INDEX turn_idempotency_by_expiry ON turn_idempotency (expires_us);

CREATE TABLE turn_waits (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    requester TEXT NOT NULL,
    step_key TEXT NOT NULL,
    kind BIGINT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    verdict BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    expires_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    request {{blob}} NOT NULL,
    answer {{blob}},
    -- When a wait whose time is up is looked at again after an error.
    check_us BIGINT NOT NULL DEFAULT 0,
    requesters TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX turn_waits_by_turn ON turn_waits (tenant, turn_id);
CREATE INDEX turn_waits_by_session ON turn_waits (tenant, session_id);
CREATE INDEX turn_waits_by_time ON turn_waits (tenant, create_us, id);
CREATE INDEX turn_waits_open ON turn_waits (tenant, create_us, id) WHERE verdict = 0;
CREATE INDEX turn_waits_due ON turn_waits (expires_us) WHERE verdict = 0 AND expires_us > 0;
-- Open waits for the user to log in or to connect a source, kind 6.
CREATE INDEX turn_waits_authorization ON turn_waits (tenant, requester) WHERE verdict = 0 AND kind = 6;

-- Roles of which an approver needs one.
CREATE TABLE turn_wait_roles (
    tenant TEXT NOT NULL,
    wait_id TEXT NOT NULL,
    role TEXT NOT NULL,
    PRIMARY KEY (tenant, wait_id, role)
){{rowless}};

-- Limits over many turns; rows of scope 'turn' are a turn's own limits, which go when it ends. scope_key is scope and target, for lookups.
CREATE TABLE budgets (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    scope TEXT NOT NULL,
    target TEXT NOT NULL,
    scope_key TEXT NOT NULL,
    period TEXT NOT NULL,
    max_tokens BIGINT NOT NULL,
    max_cost BIGINT NOT NULL,
    max_calls BIGINT NOT NULL,
    warn_at BIGINT NOT NULL,
    period_us BIGINT NOT NULL,
    used_tokens BIGINT NOT NULL,
    used_cost BIGINT NOT NULL,
    used_calls BIGINT NOT NULL,
    reserved_tokens BIGINT NOT NULL,
    reserved_cost BIGINT NOT NULL,
    reserved_calls BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{rowless}};
CREATE INDEX budgets_by_scope ON budgets (tenant, scope_key);

-- What steps under way hold of budgets. max_output is what a model step may write, bound the limit of this budget that is why it is no more.
CREATE TABLE budget_holds (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    budget_id TEXT NOT NULL,
    tokens BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    max_output BIGINT NOT NULL,
    bound TEXT NOT NULL,
    -- What one model call of the step was estimated to read, in tokens; 0 for other steps.
    prompt BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, turn_id, step_key, budget_id)
){{rowless}};

CREATE TABLE compactions (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    to_turn_seq BIGINT NOT NULL,
    to_place BIGINT NOT NULL,
    to_seq BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
){{strict}};

-- The same artifact may be in several sessions, where one is a fork of another; its bytes are kept once.
CREATE TABLE artifacts (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id, session_id)
){{rowless}};
CREATE INDEX artifacts_by_session ON artifacts (tenant, session_id, create_us, id);

CREATE TABLE artifact_blobs (
    tenant TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    refs BIGINT NOT NULL,
    data {{blob}} NOT NULL,
    PRIMARY KEY (tenant, sha256)
){{strict}};

-- Which turn was begun by which. A row is there before its turn is.
CREATE TABLE turn_children (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    parent_turn_id TEXT NOT NULL,
    parent_session_id TEXT NOT NULL,
    root_turn_id TEXT NOT NULL,
    step_key TEXT NOT NULL,
    call_id TEXT NOT NULL,
    depth BIGINT NOT NULL,
    background BIGINT NOT NULL,
    -- The parent has been told of its end.
    told BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    -- The turn of a user that all of it follows from, callbacks of sub-agents in the background included; limits of number count by it.
    origin_turn_id TEXT NOT NULL DEFAULT '',
    -- For a sub-agent in the background: the turn that its result was given to the parent's session with; empty before that.
    callback_turn_id TEXT NOT NULL DEFAULT '',
    -- A result that is not delivered yet: how often that was tried, when it is tried next, and whether the journal of the parent's session says why not.
    attempts BIGINT NOT NULL DEFAULT 0,
    next_us BIGINT NOT NULL DEFAULT 0,
    undelivered BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};
CREATE UNIQUE INDEX turn_children_by_step ON turn_children (tenant, parent_turn_id, step_key);
CREATE INDEX turn_children_by_root ON turn_children (tenant, root_turn_id);
CREATE INDEX turn_children_by_origin ON turn_children (tenant, origin_turn_id);
CREATE INDEX turn_children_by_callback ON turn_children (tenant, callback_turn_id) WHERE callback_turn_id <> '';
CREATE INDEX turn_children_due ON turn_children (next_us) WHERE told = 0;

-- What an executor calls a session of ours.
CREATE TABLE session_executors (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    executor_hash TEXT NOT NULL,
    executor_session_id TEXT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, session_id)
){{strict}};

-- Turns that begin by the clock. A row is the truth; Temporal's schedule is made after it. A deleted one stays until Temporal has forgotten it.
CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    subject TEXT NOT NULL,
    -- A windlass.sessions.v1.Schedule: what its owner set.
    data {{blob}} NOT NULL,
    -- The windlass.policy.v1.Principal that its turns run for.
    principal {{blob}} NOT NULL,
    paused BIGINT NOT NULL,
    deleted BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    -- The revision that Temporal has.
    synced BIGINT NOT NULL,
    -- When Temporal is next told or asked.
    check_us BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    last_fire_us BIGINT NOT NULL,
    last_turn_id TEXT NOT NULL,
    last_error TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX schedules_by_check ON schedules (check_us);

-- Each time that a schedule fired: the newest ones, and those that are not settled.
CREATE TABLE schedule_fires (
    tenant TEXT NOT NULL,
    schedule_id TEXT NOT NULL,
    -- The time that it was due, or what makes a request to run it unique.
    fire_key TEXT NOT NULL,
    manual BIGINT NOT NULL,
    due_us BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    outcome TEXT NOT NULL,
    -- Not settled yet; look_us is when somebody may look at it.
    pending BIGINT NOT NULL,
    look_us BIGINT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    error TEXT NOT NULL,
    PRIMARY KEY (tenant, schedule_id, fire_key)
){{rowless}};
CREATE INDEX schedule_fires_by_time ON schedule_fires (tenant, schedule_id, create_us);
CREATE INDEX schedule_fires_pending ON schedule_fires (look_us) WHERE pending = 1;

-- Addresses that are told of the ends of turns. Secrets are sealed.
CREATE TABLE webhooks (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    -- Types of events, separated by commas; empty = all.
    events TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    description TEXT NOT NULL,
    disabled BIGINT NOT NULL,
    per_turn BIGINT NOT NULL,
    last_error TEXT NOT NULL,
    created_by TEXT NOT NULL,
    secret {{blob}} NOT NULL,
    -- The secret before, which signs too until old_until_us.
    old_secret {{blob}} NOT NULL,
    old_until_us BIGINT NOT NULL,
    create_us BIGINT NOT NULL,
    update_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE UNIQUE INDEX webhooks_per_turn ON webhooks (tenant) WHERE per_turn = 1;

-- The webhook_url of turns that have one, until they end.
CREATE TABLE turn_webhooks (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    url TEXT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{rowless}};

-- What is to be sent to webhooks, or was.
CREATE TABLE webhook_deliveries (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    type TEXT NOT NULL,
    -- Of the turn; empty = the webhook's.
    url TEXT NOT NULL,
    body {{blob}} NOT NULL,
    -- 0 pending, 1 delivered, 2 failed.
    status BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    -- Somebody sends it, until next_us at most.
    sending BIGINT NOT NULL,
    -- When it may be taken next.
    next_us BIGINT NOT NULL,
    give_up_us BIGINT NOT NULL,
    response_code BIGINT NOT NULL,
    error TEXT NOT NULL,
    create_us BIGINT NOT NULL,
    end_us BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
){{strict}};
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_us) WHERE status = 0;
CREATE INDEX webhook_deliveries_over ON webhook_deliveries (end_us) WHERE status > 0;
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (tenant, webhook_id, id);
CREATE INDEX webhook_deliveries_by_session ON webhook_deliveries (tenant, session_id);

-- What the model calls of an agent have used for each thousand tokens of their estimate.
CREATE TABLE model_ratios (
    tenant TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    model TEXT NOT NULL,
    input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent_id, model)
){{rowless}};

-- People whose input a turn has taken, besides whoever began it. requesters of a wait are those by whose input its call came about, as JSON; '' = the
-- requester alone.
CREATE TABLE turn_requesters (
    tenant TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (tenant, turn_id, subject)
){{rowless}};

-- Turns of deleted sessions of which other services still have something. A row goes when nothing is left.
CREATE TABLE turn_erasures (
    tenant   TEXT NOT NULL,
    turn_id  TEXT NOT NULL,
    due_us   BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
){{strict}};
CREATE INDEX turn_erasures_due ON turn_erasures (due_us);

-- Domain events (JSON). seq is 0 until the event has its number in the tenant's log; place orders the events of one transaction. Others than owner,
-- if it is not empty, see the event as administrators only.
CREATE TABLE sessions_events (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    seq        BIGINT NOT NULL,
    place      BIGINT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    time_us    BIGINT NOT NULL,
    data       TEXT NOT NULL,
    owner      TEXT NOT NULL,
    erase_with TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE UNIQUE INDEX sessions_events_seq ON sessions_events (tenant, seq) WHERE seq > 0;
CREATE INDEX sessions_events_type ON sessions_events (tenant, type, seq) WHERE seq > 0;
CREATE INDEX sessions_events_new ON sessions_events (tenant) WHERE seq = 0;
CREATE INDEX sessions_events_erase ON sessions_events (tenant, erase_with) WHERE erase_with <> '';

-- The number and the time of the last event of each tenant's log.
CREATE TABLE sessions_event_heads (
    tenant  TEXT NOT NULL PRIMARY KEY,
    seq     BIGINT NOT NULL,
    time_us BIGINT NOT NULL
);

-- Turns that have a grant in the policy service. due_us is 0 until the turn has ended; then it is when policy is next told so.
CREATE TABLE turn_grants (
    tenant   TEXT NOT NULL,
    turn_id  TEXT NOT NULL,
    due_us   BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    PRIMARY KEY (tenant, turn_id)
);
CREATE INDEX turn_grants_due ON turn_grants (due_us) WHERE due_us > 0;

-- +goose Down
DROP TABLE turn_grants;
DROP TABLE sessions_event_heads;
DROP TABLE sessions_events;
DROP TABLE turn_erasures;
DROP TABLE turn_requesters;
DROP TABLE model_ratios;
DROP TABLE webhook_deliveries;
DROP TABLE turn_webhooks;
DROP TABLE webhooks;
DROP TABLE schedule_fires;
DROP TABLE schedules;
DROP TABLE session_executors;
DROP TABLE turn_children;
DROP TABLE artifact_blobs;
DROP TABLE artifacts;
DROP TABLE compactions;
DROP TABLE budget_holds;
DROP TABLE budgets;
DROP TABLE turn_wait_roles;
DROP TABLE turn_waits;
DROP TABLE turn_idempotency;
DROP TABLE turn_outbox;
DROP TABLE turn_steps;
DROP TABLE turn_journal;
DROP TABLE turn_surfaces;
DROP TABLE turn_inputs;
DROP TABLE turns;
DROP TABLE messages;
DROP TABLE sessions;
DROP TABLE agent_revisions;
DROP TABLE agents;
