-- +goose Up

-- A payment's natural key as canonical JSON: names sorted, no spaces. Without a
-- version it is what all versions of the payment share.
-- +goose StatementBegin
CREATE FUNCTION payroll_canonical(tenant text, period text, employee text, version int4, ref text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '{"emp":' || to_json(employee)::text || coalesce(',"l":' || to_json(nullif(ref, ''))::text, '') ||
    ',"pp":' || to_json(period)::text || ',"t":' || to_json(tenant)::text || coalesce(',"v":' || version, '') || '}'
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION payroll_line_digest(tenant text, period text, employee text, version int4, ref text DEFAULT NULL) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT substr(sha256(convert_to(payroll_canonical(tenant, period, employee, version, ref), 'UTF8')), 1, 12)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION payroll_natural_digest(tenant text, period text, employee text, ref text DEFAULT NULL) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT payroll_line_digest(tenant, period, employee, NULL, ref)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION payroll_line_key(tenant text, period text, employee text, version int4, ref text DEFAULT NULL) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT 'pl_' || tenant || '_' || period || '_' || encode(payroll_line_digest(tenant, period, employee, version, ref), 'hex')
$$;
-- +goose StatementEnd

-- store.StateOf in SQL: where a line stands is which table names it.
-- +goose StatementBegin
CREATE FUNCTION payroll_line_state(next_ordinal int4, cancelled_from int4, live bool, ordinal int4, trouble int2, outcome int2) RETURNS int2
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN outcome IS NOT NULL THEN outcome
    WHEN trouble IS NOT NULL THEN trouble
    WHEN ordinal >= cancelled_from THEN 7::int2
    WHEN live AND ordinal < next_ordinal THEN 2::int2
    ELSE 1::int2 END
$$;
-- +goose StatementEnd

-- Undoes a statement whose parts did not all find what they expected: in one
-- statement every part runs, whether or not the others matched.
-- +goose StatementBegin
CREATE FUNCTION payroll_expect(actual int8, expected int8) RETURNS bool
LANGUAGE plpgsql AS $$
BEGIN
  IF actual <> expected THEN
    RAISE EXCEPTION 'expected % rows, found %', expected, actual USING ERRCODE = 'PG409';
  END IF;
  RETURN true;
END
$$;
-- +goose StatementEnd

CREATE TABLE periods (
  id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  pay_period text COLLATE "C" NOT NULL,
  UNIQUE (tenant, pay_period)
);

-- What an owner holds. The heartbeat is here, away from the hot token rows.
CREATE TABLE units (
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  period_id int4 NOT NULL REFERENCES periods,
  vendor text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL DEFAULT '',
  epoch int8 NOT NULL DEFAULT 0,
  heartbeat_at timestamptz,
  UNIQUE (period_id, vendor)
) WITH (fillfactor = 50);

-- Written once. unit_id has no foreign key: it would lock the unit's row for as
-- long as an intake copies its lines, and keep a take-over waiting.
CREATE TABLE batches (
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  batch_key text COLLATE "C" NOT NULL UNIQUE,
  unit_id int8 NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  run_attempt_group text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  pay_date date,
  cutoff_at timestamptz,
  content_hash bytea NOT NULL,
  total int4 NOT NULL,
  created_by text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX batches_by_unit ON batches (unit_id, id);
CREATE INDEX batches_by_tenant ON batches (tenant, id);

-- The hot row of a batch: counts, cursor, fence. Never indexed on what changes.
CREATE TABLE resume_tokens (
  batch_id int8 PRIMARY KEY REFERENCES batches,
  token uuid NOT NULL UNIQUE,
  state int2 NOT NULL,
  hold_reason text NOT NULL DEFAULT '',
  epoch int8 NOT NULL,
  change_seq int8 NOT NULL DEFAULT 0,
  version int8 NOT NULL DEFAULT 1,
  next_ordinal int4 NOT NULL DEFAULT 1,
  last_cursor int4 NOT NULL DEFAULT 0,
  next_attempt int4 NOT NULL DEFAULT 1,
  cancelled_from int4,
  pending int4 NOT NULL CHECK (pending >= 0),
  in_flight int4 NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  retrying int4 NOT NULL DEFAULT 0 CHECK (retrying >= 0),
  unknown int4 NOT NULL DEFAULT 0 CHECK (unknown >= 0),
  settled int4 NOT NULL DEFAULT 0 CHECK (settled >= 0),
  dead_lettered int4 NOT NULL DEFAULT 0 CHECK (dead_lettered >= 0),
  cancelled int4 NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
  superseded int4 NOT NULL DEFAULT 0 CHECK (superseded >= 0),
  rejected int4 NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL,
  completed_at timestamptz
) WITH (fillfactor = 10);
CREATE INDEX resume_tokens_open ON resume_tokens (batch_id) WHERE completed_at IS NULL;

CREATE TABLE batch_amounts (
  batch_id int8 NOT NULL,
  currency text COLLATE "C" NOT NULL,
  total int8 NOT NULL,
  settled int8 NOT NULL DEFAULT 0,
  earlier int8 NOT NULL DEFAULT 0,
  dead_lettered int8 NOT NULL DEFAULT 0,
  cancelled int8 NOT NULL DEFAULT 0,
  superseded int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, currency)
) WITH (fillfactor = 10);

-- The wide row: written once; only live changes, when the payment is taken up
-- by another item. Columns are in the order that wastes no bytes.
CREATE TABLE lines (
  batch_id int8 NOT NULL,
  amount int8 NOT NULL,
  ordinal int4 NOT NULL,
  period_id int4 NOT NULL,
  line_version int4 NOT NULL,
  live bool NOT NULL,
  key bytea NOT NULL,
  hash bytea NOT NULL,
  natural_key bytea NOT NULL,
  employee_id text COLLATE "C" NOT NULL,
  line_ref text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  details bytea NOT NULL,
  metadata bytea NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
);
CREATE UNIQUE INDEX lines_live_key ON lines (period_id, key) WHERE live;

-- Only versions above 1: version 1 is found by its key, which any later version
-- can compute.
CREATE TABLE versions (
  period_id int4 NOT NULL,
  natural_key bytea NOT NULL,
  line_version int4 NOT NULL,
  key bytea NOT NULL,
  PRIMARY KEY (period_id, natural_key, line_version)
);

CREATE TABLE adoptions (
  batch_id int8 NOT NULL,
  ordinal int4 NOT NULL,
  live_batch_id int8 NOT NULL,
  live_ordinal int4 NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
);
CREATE INDEX adoptions_of ON adoptions (live_batch_id, live_ordinal);

CREATE TABLE corrections (
  batch_id int8 NOT NULL,
  ordinal int4 NOT NULL,
  corrects_batch_id int8 NOT NULL,
  corrects_ordinal int4 NOT NULL,
  PRIMARY KEY (batch_id, ordinal, corrects_batch_id, corrects_ordinal)
);

-- One request on the wire; ordinals in the order of the request.
CREATE TABLE attempts (
  batch_id int8 NOT NULL,
  attempt_no int4 NOT NULL,
  first_ordinal int4 NOT NULL,
  last_ordinal int4 NOT NULL,
  revision int4 NOT NULL,
  epoch int8 NOT NULL,
  sent_at timestamptz NOT NULL,
  send_before timestamptz NOT NULL,
  closed_at timestamptz,
  kind int2 NOT NULL,
  fresh bool NOT NULL, -- nothing is remembered of its lines
  generation int2 NOT NULL,
  http_status int2 NOT NULL DEFAULT 0,
  verdict int2 NOT NULL DEFAULT 0,
  request_key text COLLATE "C" NOT NULL,
  body_sha256 bytea NOT NULL,
  ordinals int4[] NOT NULL,
  detail text NOT NULL DEFAULT '',
  late bytea,
  PRIMARY KEY (batch_id, attempt_no)
) WITH (fillfactor = 70);
CREATE INDEX attempts_open ON attempts (batch_id) WHERE closed_at IS NULL;

-- Every verdict but a first-time settled.
CREATE TABLE line_events (
  batch_id int8 NOT NULL,
  ordinal int4 NOT NULL,
  id int8 GENERATED ALWAYS AS IDENTITY,
  attempt_no int4 NOT NULL,
  at timestamptz NOT NULL,
  verdict int2 NOT NULL,
  http_status int2 NOT NULL,
  detail text NOT NULL,
  PRIMARY KEY (batch_id, ordinal, id)
);

-- Lines that could not simply be sent and settled. A row stays when its line
-- ends, so that the replay guard can read it; only settling takes it away.
CREATE TABLE troubles (
  batch_id int8 NOT NULL,
  ordinal int4 NOT NULL,
  attempt_no int4 NOT NULL,
  first_sent_at timestamptz,
  quiet_at timestamptz,
  due_at timestamptz,
  cutoff_at timestamptz,
  blocked_by_batch int8 NOT NULL,
  blocked_by_ordinal int4 NOT NULL,
  max_chunk int4 NOT NULL,
  family int4 NOT NULL,
  frozen_with int4 NOT NULL,
  looked_up int4 NOT NULL,
  state int2 NOT NULL,
  generation int2 NOT NULL,
  sends int2 NOT NULL,
  used_network int2 NOT NULL,
  used_vendor_error int2 NOT NULL,
  used_rate_limited int2 NOT NULL,
  used_not_yet int2 NOT NULL,
  used_look_up int2 NOT NULL,
  ambiguous bool NOT NULL,
  look_up_next bool NOT NULL,
  conflicted bool NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
) WITH (fillfactor = 70);
-- Lines that wait for their time: pending, retrying or unknown, in no attempt, not blocked.
CREATE INDEX troubles_due ON troubles (batch_id, coalesce(due_at, '-infinity'), ordinal)
  WHERE attempt_no = 0 AND state IN (1, 3, 4) AND blocked_by_batch = 0;
CREATE INDEX troubles_blocked ON troubles (batch_id, ordinal) WHERE blocked_by_batch <> 0;

CREATE TABLE outcomes (
  batch_id int8 NOT NULL,
  ordinal int4 NOT NULL,
  attempt_no int4 NOT NULL,
  state int2 NOT NULL,
  settled_as int2 NOT NULL,
  http_status int2 NOT NULL,
  reason int2 NOT NULL,
  reference text NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
);
CREATE INDEX outcomes_unsettled ON outcomes (batch_id, state, ordinal) WHERE state <> 5;

-- Immutable but for status and how it was closed. Items refused at intake have
-- no line; theirs have the row's digest, which "the same content" compares.
CREATE TABLE dead_letters (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  vendor text COLLATE "C" NOT NULL,
  pay_period text COLLATE "C" NOT NULL,
  batch_id int8 NOT NULL,
  batch_key text COLLATE "C" NOT NULL,
  ordinal int4 NOT NULL,
  line_key text COLLATE "C" NOT NULL,
  employee_id text COLLATE "C" NOT NULL,
  amount int8 NOT NULL,
  currency text COLLATE "C" NOT NULL,
  cutoff_at timestamptz,
  digest bytea,
  status int2 NOT NULL,
  reason int2 NOT NULL,
  class int2 NOT NULL,
  stage int2 NOT NULL,
  last_status int2 NOT NULL,
  last_error text NOT NULL,
  attempts int4 NOT NULL,
  history bytea NOT NULL,
  payload bytea NOT NULL,
  payload_cut bool NOT NULL,
  first_seen_at timestamptz NOT NULL,
  dead_lettered_at timestamptz NOT NULL,
  closed_at timestamptz,
  closed_as text NOT NULL DEFAULT '',
  actor text NOT NULL DEFAULT '',
  note text NOT NULL DEFAULT '',
  root_cause text NOT NULL DEFAULT ''
);
CREATE INDEX dead_letters_page ON dead_letters (tenant, dead_lettered_at, id);
CREATE INDEX dead_letters_line ON dead_letters (batch_id, ordinal, dead_lettered_at);
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (batch_id, ordinal) INCLUDE (reason, stage) WHERE status = 1;

CREATE TABLE replays (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  filter jsonb NOT NULL,
  rate_per_sec float8 NOT NULL,
  root_cause text NOT NULL,
  cutoff_at timestamptz,
  actor text NOT NULL,
  matched int4 NOT NULL,
  page_cursor text NOT NULL,
  replayed int4 NOT NULL,
  refused int4 NOT NULL,
  state int2 NOT NULL,
  created_at timestamptz NOT NULL,
  finished_at timestamptz
);
CREATE INDEX replays_running ON replays (created_at, id) WHERE state = 1;

CREATE TABLE gates (
  vendor text COLLATE "C" PRIMARY KEY,
  state text NOT NULL,
  until timestamptz,
  reason text NOT NULL,
  since timestamptz,
  actor text NOT NULL
);

CREATE TABLE vendor_profiles (
  name text COLLATE "C",
  revision int4,
  sha256 bytea NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (name, revision)
);

CREATE TABLE audit (
  id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  object text NOT NULL,
  detail text NOT NULL
);

-- For auditors: one row per payment, under the names that a plain design with
-- one wide table would have.
CREATE VIEW idempotency_records AS
SELECT 'pl_' || p.tenant || '_' || p.pay_period || '_' || encode(l.key, 'hex') AS idempotency_key,
  p.tenant AS tenant_id,
  p.pay_period AS pay_period_id,
  l.employee_id,
  encode(l.hash, 'hex') AS request_hash,
  nullif(o.http_status, 0) AS response_status,
  CASE WHEN o.reference <> '' THEN jsonb_build_object('reference', o.reference) END AS response_body,
  CASE payroll_line_state(t.next_ordinal, t.cancelled_from, l.live, l.ordinal, r.state, o.state)
    WHEN 5 THEN 'succeeded' WHEN 6 THEN 'failed' WHEN 7 THEN 'failed' WHEN 8 THEN 'failed' ELSE 'pending' END AS state,
  (SELECT count(*) FROM attempts a WHERE a.batch_id = l.batch_id AND a.kind = 1
    AND l.ordinal BETWEEN a.first_ordinal AND a.last_ordinal AND l.ordinal = ANY (a.ordinals)) AS attempt_count,
  b.created_at,
  t.updated_at
FROM lines l
JOIN batches b ON b.id = l.batch_id
JOIN resume_tokens t ON t.batch_id = l.batch_id
JOIN periods p ON p.id = l.period_id
LEFT JOIN troubles r ON r.batch_id = l.batch_id AND r.ordinal = l.ordinal
LEFT JOIN outcomes o ON o.batch_id = l.batch_id AND o.ordinal = l.ordinal
WHERE l.live;

CREATE VIEW batch_resume_tokens AS
SELECT t.token, b.batch_key, p.pay_period AS pay_period_id, b.total AS total_lines,
  (SELECT coalesce(jsonb_agg('pl_' || p.tenant || '_' || p.pay_period || '_' || encode(l.key, 'hex') ORDER BY l.ordinal), '[]')
    FROM outcomes o JOIN lines l USING (batch_id, ordinal) WHERE o.batch_id = t.batch_id AND o.state = 5) AS settled_keys,
  t.last_cursor,
  (ARRAY['queued', 'in_progress', 'waiting', 'suspended', 'completed', 'cancelled'])[t.state] AS state,
  b.created_at, t.updated_at
FROM resume_tokens t
JOIN batches b ON b.id = t.batch_id
JOIN units u ON u.id = b.unit_id
JOIN periods p ON p.id = u.period_id;

-- +goose Down
DROP VIEW batch_resume_tokens, idempotency_records;
DROP TABLE audit, vendor_profiles, gates, replays, dead_letters, outcomes, troubles, line_events, attempts,
  corrections, adoptions, versions, lines, batch_amounts, resume_tokens, batches, units, periods;
DROP FUNCTION payroll_expect, payroll_line_state, payroll_line_key, payroll_natural_digest, payroll_line_digest, payroll_canonical;
