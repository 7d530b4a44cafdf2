-- The ledger. Where a line stands is which table names it: untouched (only in
-- lines), in a chunk (an open attempt), in trouble (troubles), ended (outcomes).
-- Times are microseconds since 1970, 0 where there is none; references, texts
-- and numbers that are not there are 0 or ''.

-- +goose Up

CREATE TABLE periods (
  id         INTEGER PRIMARY KEY,
  tenant     TEXT NOT NULL,
  pay_period TEXT NOT NULL,
  UNIQUE (tenant, pay_period)
) STRICT;

-- What one owner holds. The heartbeat lives here, away from the tokens.
CREATE TABLE units (
  id           INTEGER PRIMARY KEY,
  period_id    INTEGER NOT NULL REFERENCES periods,
  vendor       TEXT NOT NULL,
  owner        TEXT NOT NULL DEFAULT '',
  epoch        INTEGER NOT NULL DEFAULT 0,
  heartbeat_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (period_id, vendor)
) STRICT;

CREATE TABLE batches (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  batch_key         TEXT NOT NULL UNIQUE,
  period_id         INTEGER NOT NULL REFERENCES periods,
  unit_id           INTEGER NOT NULL REFERENCES units,
  vendor            TEXT NOT NULL,
  run_attempt_group TEXT NOT NULL,
  currency          TEXT NOT NULL,
  pay_date          TEXT NOT NULL,
  cutoff_at         INTEGER NOT NULL,
  content_hash      BLOB NOT NULL,
  total             INTEGER NOT NULL,
  created_by        TEXT NOT NULL,
  created_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX batches_by_period ON batches (period_id, id);

CREATE TABLE resume_tokens (
  batch_id       INTEGER PRIMARY KEY REFERENCES batches,
  token          BLOB NOT NULL UNIQUE,
  state          INTEGER NOT NULL,
  hold_reason    TEXT NOT NULL DEFAULT '',
  epoch          INTEGER NOT NULL,
  change_seq     INTEGER NOT NULL DEFAULT 0,
  version        INTEGER NOT NULL DEFAULT 0,
  next_ordinal   INTEGER NOT NULL DEFAULT 1,
  last_cursor    INTEGER NOT NULL DEFAULT 0,
  next_attempt   INTEGER NOT NULL DEFAULT 1,
  cancelled_from INTEGER NOT NULL DEFAULT 0,
  pending        INTEGER NOT NULL DEFAULT 0 CHECK (pending >= 0),
  in_flight      INTEGER NOT NULL DEFAULT 0 CHECK (in_flight >= 0),
  retrying       INTEGER NOT NULL DEFAULT 0 CHECK (retrying >= 0),
  unknown        INTEGER NOT NULL DEFAULT 0 CHECK (unknown >= 0),
  settled        INTEGER NOT NULL DEFAULT 0 CHECK (settled >= 0),
  dead_lettered  INTEGER NOT NULL DEFAULT 0 CHECK (dead_lettered >= 0),
  cancelled      INTEGER NOT NULL DEFAULT 0 CHECK (cancelled >= 0),
  superseded     INTEGER NOT NULL DEFAULT 0 CHECK (superseded >= 0),
  rejected       INTEGER NOT NULL DEFAULT 0,
  updated_at     INTEGER NOT NULL,
  completed_at   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX resume_tokens_open ON resume_tokens (batch_id) WHERE completed_at = 0;

CREATE TABLE batch_amounts (
  batch_id      INTEGER NOT NULL REFERENCES batches,
  currency      TEXT NOT NULL,
  total         INTEGER NOT NULL DEFAULT 0,
  settled       INTEGER NOT NULL DEFAULT 0,
  earlier       INTEGER NOT NULL DEFAULT 0,
  dead_lettered INTEGER NOT NULL DEFAULT 0,
  cancelled     INTEGER NOT NULL DEFAULT 0,
  superseded    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, currency)
) STRICT, WITHOUT ROWID;

-- The wide row: written once; only live ever changes, when a payment moves to
-- another batch's item. any_version is shared by all versions of a payment.
CREATE TABLE lines (
  batch_id     INTEGER NOT NULL REFERENCES batches,
  ordinal      INTEGER NOT NULL,
  period_id    INTEGER NOT NULL,
  live         INTEGER NOT NULL,
  key          BLOB NOT NULL,
  hash         BLOB NOT NULL,
  any_version  BLOB NOT NULL,
  employee_id  TEXT NOT NULL,
  line_version INTEGER NOT NULL,
  line_ref     TEXT NOT NULL,
  amount       INTEGER NOT NULL,
  currency     TEXT NOT NULL,
  details      BLOB,
  metadata     BLOB,
  PRIMARY KEY (batch_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX lines_live_key ON lines (period_id, key) WHERE live = 1;

-- Versions above 1 only: version 1 is found by its key. Each row names the live
-- item of its version.
CREATE TABLE versions (
  period_id    INTEGER NOT NULL,
  any_version  BLOB NOT NULL,
  line_version INTEGER NOT NULL,
  batch_id     INTEGER NOT NULL,
  ordinal      INTEGER NOT NULL,
  PRIMARY KEY (period_id, any_version, line_version)
) STRICT, WITHOUT ROWID;

CREATE TABLE adoptions (
  batch_id      INTEGER NOT NULL,
  ordinal       INTEGER NOT NULL,
  live_batch_id INTEGER NOT NULL,
  live_ordinal  INTEGER NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX adoptions_of ON adoptions (live_batch_id, live_ordinal);

CREATE TABLE corrections (
  batch_id          INTEGER NOT NULL,
  ordinal           INTEGER NOT NULL,
  corrects_batch_id INTEGER NOT NULL,
  corrects_ordinal  INTEGER NOT NULL,
  PRIMARY KEY (batch_id, ordinal, corrects_batch_id, corrects_ordinal)
) STRICT, WITHOUT ROWID;

-- ordinals: 4 bytes each, big-endian, in the order of the request. fresh: its
-- lines were in no other table when it was opened.
CREATE TABLE attempts (
  batch_id      INTEGER NOT NULL REFERENCES batches,
  attempt_no    INTEGER NOT NULL,
  epoch         INTEGER NOT NULL,
  kind          INTEGER NOT NULL,
  fresh         INTEGER NOT NULL,
  first_ordinal INTEGER NOT NULL,
  last_ordinal  INTEGER NOT NULL,
  request_key   TEXT NOT NULL,
  generation    INTEGER NOT NULL,
  body_sha256   BLOB NOT NULL,
  revision      INTEGER NOT NULL,
  sent_at       INTEGER NOT NULL,
  send_before   INTEGER NOT NULL,
  closed_at     INTEGER NOT NULL DEFAULT 0,
  http_status   INTEGER NOT NULL DEFAULT 0,
  verdict       INTEGER NOT NULL DEFAULT 0,
  detail        TEXT NOT NULL DEFAULT '',
  late          BLOB,
  ordinals      BLOB NOT NULL,
  PRIMARY KEY (batch_id, attempt_no)
) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_open ON attempts (batch_id) WHERE closed_at = 0;

-- What an attempt meant for a line, but for fresh lines that were paid at once;
-- attempt_no 0: noted outside attempts. Together with its outcome and the open
-- attempts this names every attempt that carried a line.
CREATE TABLE line_events (
  id          INTEGER PRIMARY KEY,
  batch_id    INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,
  attempt_no  INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  verdict     INTEGER NOT NULL,
  http_status INTEGER NOT NULL,
  detail      TEXT NOT NULL
) STRICT;
CREATE INDEX line_events_of ON line_events (batch_id, ordinal);

-- state is the line's, also when it has ended; a row stays with a dead letter.
CREATE TABLE troubles (
  batch_id           INTEGER NOT NULL,
  ordinal            INTEGER NOT NULL,
  state              INTEGER NOT NULL,
  generation         INTEGER NOT NULL,
  sends              INTEGER NOT NULL,
  used_network       INTEGER NOT NULL,
  used_vendor_error  INTEGER NOT NULL,
  used_rate_limited  INTEGER NOT NULL,
  used_not_yet       INTEGER NOT NULL,
  used_look_up       INTEGER NOT NULL,
  first_sent_at      INTEGER NOT NULL,
  ambiguous          INTEGER NOT NULL,
  quiet_at           INTEGER NOT NULL,
  due_at             INTEGER NOT NULL,
  look_up_next       INTEGER NOT NULL,
  looked_up          INTEGER NOT NULL,
  conflicted         INTEGER NOT NULL,
  max_chunk          INTEGER NOT NULL,
  family             INTEGER NOT NULL,
  frozen_with        INTEGER NOT NULL,
  blocked_by_batch   INTEGER NOT NULL,
  blocked_by_ordinal INTEGER NOT NULL,
  attempt_no         INTEGER NOT NULL,
  cutoff_at          INTEGER NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX troubles_due ON troubles (batch_id, due_at, ordinal)
  WHERE attempt_no = 0 AND blocked_by_batch = 0 AND state < 5;
CREATE INDEX troubles_blocked ON troubles (batch_id, ordinal) WHERE blocked_by_batch > 0 AND state < 5;

CREATE TABLE outcomes (
  batch_id    INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  settled_as  INTEGER NOT NULL,
  http_status INTEGER NOT NULL,
  attempt_no  INTEGER NOT NULL,
  reason      INTEGER NOT NULL,
  reference   TEXT NOT NULL,
  PRIMARY KEY (batch_id, ordinal)
) STRICT, WITHOUT ROWID;

-- The rule of where a line stands; the same as StateOf in Go.
CREATE VIEW line_states AS
SELECT l.batch_id, l.ordinal,
  CASE
    WHEN o.state IS NOT NULL THEN o.state
    WHEN r.state IS NOT NULL THEN r.state
    WHEN t.cancelled_from > 0 AND l.ordinal >= t.cancelled_from THEN 7
    WHEN l.live = 1 AND l.ordinal < t.next_ordinal THEN 2
    ELSE 1
  END AS state
FROM lines l
JOIN resume_tokens t ON t.batch_id = l.batch_id
LEFT JOIN outcomes o ON o.batch_id = l.batch_id AND o.ordinal = l.ordinal
LEFT JOIN troubles r ON r.batch_id = l.batch_id AND r.ordinal = l.ordinal;

-- digest: what "the same content" compares, of rows refused at intake, which
-- have no line; NULL where there is a line.
CREATE TABLE dead_letters (
  id               BLOB NOT NULL PRIMARY KEY,
  tenant           TEXT NOT NULL,
  vendor           TEXT NOT NULL,
  batch_id         INTEGER NOT NULL REFERENCES batches,
  batch_key        TEXT NOT NULL,
  pay_period       TEXT NOT NULL,
  ordinal          INTEGER NOT NULL,
  line_key         TEXT NOT NULL,
  employee_id      TEXT NOT NULL,
  amount           INTEGER NOT NULL,
  currency         TEXT NOT NULL,
  cutoff_at        INTEGER NOT NULL,
  status           INTEGER NOT NULL,
  reason           INTEGER NOT NULL,
  stage            INTEGER NOT NULL,
  last_status      INTEGER NOT NULL,
  last_error       TEXT NOT NULL,
  attempts         INTEGER NOT NULL,
  first_seen_at    INTEGER NOT NULL,
  dead_lettered_at INTEGER NOT NULL,
  closed_at        INTEGER NOT NULL DEFAULT 0,
  closed_as        TEXT NOT NULL DEFAULT '',
  actor            TEXT NOT NULL DEFAULT '',
  note             TEXT NOT NULL DEFAULT '',
  root_cause       TEXT NOT NULL DEFAULT '',
  digest           BLOB,
  payload_cut      INTEGER NOT NULL,
  history          BLOB NOT NULL,
  payload          BLOB NOT NULL
) STRICT;
CREATE INDEX dead_letters_page ON dead_letters (tenant, dead_lettered_at, id);
CREATE INDEX dead_letters_line ON dead_letters (batch_id, ordinal);
CREATE UNIQUE INDEX dead_letters_open ON dead_letters (batch_id, ordinal) WHERE status = 1;
CREATE INDEX dead_letters_rejected ON dead_letters (batch_id, ordinal) WHERE digest IS NOT NULL;

CREATE TABLE replays (
  id           BLOB NOT NULL PRIMARY KEY,
  tenant       TEXT NOT NULL,
  status       INTEGER NOT NULL,
  reason       INTEGER NOT NULL,
  class        INTEGER NOT NULL,
  stage        INTEGER NOT NULL,
  vendor       TEXT NOT NULL,
  batch_key    TEXT NOT NULL,
  pay_period   TEXT NOT NULL,
  rate_per_sec REAL NOT NULL,
  root_cause   TEXT NOT NULL,
  cutoff_at    INTEGER NOT NULL,
  actor        TEXT NOT NULL,
  matched      INTEGER NOT NULL,
  cursor       TEXT NOT NULL,
  replayed     INTEGER NOT NULL,
  refused      INTEGER NOT NULL,
  state        INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  finished_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX replays_running ON replays (created_at) WHERE state = 1;

CREATE TABLE gates (
  vendor TEXT NOT NULL PRIMARY KEY,
  state  TEXT NOT NULL,
  until  INTEGER NOT NULL,
  reason TEXT NOT NULL,
  since  INTEGER NOT NULL,
  actor  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE vendor_profiles (
  name     TEXT NOT NULL,
  revision INTEGER NOT NULL,
  body     BLOB NOT NULL,
  PRIMARY KEY (name, revision)
) STRICT;

CREATE TABLE audit (
  id     INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  actor  TEXT NOT NULL,
  action TEXT NOT NULL,
  object TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;

-- For auditors: the ledger under the names of the integration guide.
CREATE VIEW idempotency_records AS
SELECT
  'pl_' || p.tenant || '_' || p.pay_period || '_' || lower(hex(l.key)) AS idempotency_key,
  p.tenant AS tenant_id,
  p.pay_period AS pay_period_id,
  l.employee_id,
  lower(hex(l.hash)) AS request_hash,
  nullif(o.http_status, 0) AS response_status,
  CASE WHEN o.reference <> '' THEN json_object('reference', o.reference) END AS response_body,
  CASE s.state WHEN 5 THEN 'succeeded' WHEN 6 THEN 'failed' WHEN 7 THEN 'failed' WHEN 8 THEN 'failed' ELSE 'pending' END AS state,
  (SELECT count(DISTINCT e.attempt_no) FROM line_events e WHERE e.batch_id = l.batch_id AND e.ordinal = l.ordinal AND e.attempt_no > 0)
    + (CASE WHEN o.attempt_no > 0 AND NOT EXISTS (SELECT 1 FROM line_events e
         WHERE e.batch_id = l.batch_id AND e.ordinal = l.ordinal AND e.attempt_no = o.attempt_no) THEN 1 ELSE 0 END)
    + (CASE WHEN s.state = 2 THEN 1 ELSE 0 END) AS attempt_count,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', t.updated_at / 1e6, 'unixepoch') AS updated_at
FROM lines l
JOIN line_states s ON s.batch_id = l.batch_id AND s.ordinal = l.ordinal
JOIN batches b ON b.id = l.batch_id
JOIN resume_tokens t ON t.batch_id = l.batch_id
JOIN periods p ON p.id = l.period_id
LEFT JOIN outcomes o ON o.batch_id = l.batch_id AND o.ordinal = l.ordinal
WHERE l.live = 1;

CREATE VIEW batch_resume_tokens AS
SELECT
  lower(substr(hex(t.token), 1, 8) || '-' || substr(hex(t.token), 9, 4) || '-' || substr(hex(t.token), 13, 4) || '-' ||
        substr(hex(t.token), 17, 4) || '-' || substr(hex(t.token), 21)) AS token,
  b.batch_key,
  p.pay_period AS pay_period_id,
  b.total AS total_lines,
  (SELECT json_group_array('pl_' || p.tenant || '_' || p.pay_period || '_' || lower(hex(l.key)))
     FROM outcomes o JOIN lines l ON l.batch_id = o.batch_id AND l.ordinal = o.ordinal
    WHERE o.batch_id = t.batch_id AND o.state = 5) AS settled_keys,
  t.last_cursor,
  CASE WHEN t.completed_at > 0 THEN 'complete' ELSE 'in_progress' END AS state,
  strftime('%Y-%m-%dT%H:%M:%fZ', b.created_at / 1e6, 'unixepoch') AS created_at,
  strftime('%Y-%m-%dT%H:%M:%fZ', t.updated_at / 1e6, 'unixepoch') AS updated_at
FROM resume_tokens t
JOIN batches b ON b.id = t.batch_id
JOIN periods p ON p.id = b.period_id;

