-- Times are unix milliseconds, ids are made by the client (prefix + ULID) and
-- sort by age. Every table names its retention.

-- +goose Up

-- Retention: kept.
CREATE TABLE users (
  id         VARCHAR(64)  NOT NULL PRIMARY KEY,
  name       VARCHAR(200) NOT NULL UNIQUE,
  created_at BIGINT       NOT NULL
);

-- Retention: until deleted by its owner.
CREATE TABLE api_tokens (
  id           VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id      VARCHAR(64)  NOT NULL,
  name         VARCHAR(100) NOT NULL,
  hash         CHAR(64)     NOT NULL UNIQUE,
  prefix       VARCHAR(16)  NOT NULL,
  scopes       TEXT         NOT NULL,
  created_at   BIGINT       NOT NULL,
  expires_at   BIGINT       NOT NULL,
  last_used_at BIGINT       NOT NULL
);
CREATE INDEX api_tokens_user ON api_tokens (user_id, id);

-- Retention: until deleted by its owner, with everything below it.
CREATE TABLE conversations (
  id            VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id       VARCHAR(64)  NOT NULL,
  title         VARCHAR(200) NOT NULL,
  model         VARCHAR(128) NOT NULL,
  system_prompt TEXT         NOT NULL,
  active_leaf   VARCHAR(64)  NOT NULL,
  live_run      VARCHAR(64)  NOT NULL,
  created_at    BIGINT       NOT NULL,
  updated_at    BIGINT       NOT NULL
);
CREATE INDEX conversations_user ON conversations (user_id, id);

-- A tree: parent_id is empty at the root. An assistant message is what a run
-- came to; its rounds are in model_calls and tool_calls. path_length counts the
-- messages of its branch up to itself.
-- Retention: with its conversation.
CREATE TABLE messages (
  id              VARCHAR(64) NOT NULL PRIMARY KEY,
  conversation_id VARCHAR(64) NOT NULL,
  user_id         VARCHAR(64) NOT NULL,
  parent_id       VARCHAR(64) NOT NULL,
  path_length     INTEGER     NOT NULL,
  role            VARCHAR(16) NOT NULL,
  content         TEXT        NOT NULL,
  run_id          VARCHAR(64) NOT NULL,
  origins         TEXT        NOT NULL,
  created_at      BIGINT      NOT NULL
);
CREATE INDEX messages_conversation ON messages (conversation_id, id);

-- lease_*: whoever holds the lease is the only one to write, and every write
-- checks owner and epoch. takeovers counts owners since the last progress.
-- Retention: with its conversation.
CREATE TABLE runs (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  conversation_id  VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  user_message_id  VARCHAR(64)  NOT NULL,
  message_id       VARCHAR(64)  NOT NULL,
  model            VARCHAR(128) NOT NULL,
  tools_enabled    BOOLEAN      NOT NULL,
  status           VARCHAR(16)  NOT NULL,
  waiting_for      VARCHAR(200) NOT NULL,
  finish_reason    VARCHAR(16)  NOT NULL,
  error_code       INTEGER      NOT NULL,
  error_reason     VARCHAR(64)  NOT NULL,
  error_message    TEXT         NOT NULL,
  error_retryable  BOOLEAN      NOT NULL,
  rounds           INTEGER      NOT NULL,
  last_seq         INTEGER      NOT NULL,
  lease_owner      VARCHAR(64)  NOT NULL,
  lease_addr       VARCHAR(200) NOT NULL,
  lease_epoch      INTEGER      NOT NULL,
  lease_until      BIGINT       NOT NULL,
  takeovers        INTEGER      NOT NULL,
  cancel_requested BOOLEAN      NOT NULL,
  origins          TEXT         NOT NULL,
  trace_id         VARCHAR(32)  NOT NULL,
  trace_parent     VARCHAR(64)  NOT NULL,
  created_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL
);
CREATE INDEX runs_status ON runs (status, lease_until);
CREATE INDEX runs_user_status ON runs (user_id, status);
CREATE INDEX runs_conversation ON runs (conversation_id);

-- One row for each attempt at a round's model call, and for each correction of
-- arguments in it. state: started, done, corrected, failed, abandoned.
-- Retention: with its run.
CREATE TABLE model_calls (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  run_id           VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  round            INTEGER      NOT NULL,
  attempt          INTEGER      NOT NULL,
  state            VARCHAR(16)  NOT NULL,
  model            VARCHAR(128) NOT NULL,
  text             TEXT         NOT NULL,
  reasoning        TEXT         NOT NULL,
  reasoning_field  VARCHAR(64)  NOT NULL,
  extra            TEXT         NOT NULL,
  finish           VARCHAR(16)  NOT NULL,
  input_tokens     INTEGER      NOT NULL,
  output_tokens    INTEGER      NOT NULL,
  cached_tokens    INTEGER      NOT NULL,
  reasoning_tokens INTEGER      NOT NULL,
  usage_estimated  BOOLEAN      NOT NULL,
  request_id       VARCHAR(200) NOT NULL,
  error            TEXT         NOT NULL,
  started_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL,
  UNIQUE (run_id, round, attempt)
);

-- A call is written before it is made. state: planned, waiting_approval,
-- dispatching, done, denied, unknown, cancelled. run_id is empty for a call
-- without a run. result is the whole result as JSON text, or a preview of it
-- when it is in the blob store under result_blob. model_text is what the model
-- reads.
-- Retention: with its run; a call without a run 30 days.
CREATE TABLE tool_calls (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  run_id           VARCHAR(64)  NOT NULL,
  conversation_id  VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  round            INTEGER      NOT NULL,
  ordinal          INTEGER      NOT NULL,
  provider_call_id VARCHAR(200) NOT NULL,
  name             VARCHAR(200) NOT NULL,
  arguments        TEXT         NOT NULL,
  extra            TEXT         NOT NULL,
  args_canonical   TEXT         NOT NULL,
  args_sha256      VARCHAR(64)  NOT NULL,
  effect           VARCHAR(16)  NOT NULL,
  effect_key       VARCHAR(64)  NOT NULL UNIQUE,
  state            VARCHAR(20)  NOT NULL,
  decision         VARCHAR(16)  NOT NULL,
  reason           VARCHAR(64)  NOT NULL,
  attempt          INTEGER      NOT NULL,
  result           TEXT         NOT NULL,
  result_blob      VARCHAR(200) NOT NULL,
  result_chars     INTEGER      NOT NULL,
  model_text       TEXT         NOT NULL,
  is_error         BOOLEAN      NOT NULL,
  truncated        BOOLEAN      NOT NULL,
  origins          TEXT         NOT NULL,
  cost_usd         DOUBLE       NOT NULL,
  trace_id         VARCHAR(32)  NOT NULL,
  created_at       BIGINT       NOT NULL,
  started_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL
);
CREATE INDEX tool_calls_run ON tool_calls (run_id, round, ordinal);
CREATE INDEX tool_calls_user ON tool_calls (user_id, id);

-- A decision that a person owes. It is bound to the exact arguments by their
-- hash and checked again when the call is made.
-- Retention: with its run.
CREATE TABLE approvals (
  id           VARCHAR(64) NOT NULL PRIMARY KEY,
  run_id       VARCHAR(64) NOT NULL,
  tool_call_id VARCHAR(64) NOT NULL,
  user_id      VARCHAR(64) NOT NULL,
  kind         VARCHAR(20) NOT NULL,
  args_sha256  VARCHAR(64) NOT NULL,
  scope        VARCHAR(16) NOT NULL,
  state        VARCHAR(16) NOT NULL,
  reason       TEXT        NOT NULL,
  created_at   BIGINT      NOT NULL,
  expires_at   BIGINT      NOT NULL,
  decided_at   BIGINT      NOT NULL
);
CREATE INDEX approvals_user ON approvals (user_id, state, id);
CREATE INDEX approvals_run ON approvals (run_id);

-- data is a nanoclaw.orchestrator.v1.RunEvent without its seq.
-- Retention: with its run.
CREATE TABLE events (
  run_id     VARCHAR(64) NOT NULL,
  seq        INTEGER     NOT NULL,
  type       VARCHAR(32) NOT NULL,
  data       BLOB        NOT NULL,
  created_at BIGINT      NOT NULL,
  PRIMARY KEY (run_id, seq)
);

-- One row for each model call and tool call that cost something, by its id, so
-- that nothing is counted twice. Retention: 400 days; deleting a conversation
-- does not change what was used.
CREATE TABLE usage_ledger (
  call_id       VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id       VARCHAR(64)  NOT NULL,
  kind          VARCHAR(8)   NOT NULL,
  day           CHAR(10)     NOT NULL,
  model         VARCHAR(128) NOT NULL,
  tool          VARCHAR(200) NOT NULL,
  input_tokens  INTEGER      NOT NULL,
  output_tokens INTEGER      NOT NULL,
  cached_tokens INTEGER      NOT NULL,
  cost_usd      DOUBLE       NOT NULL
);
CREATE INDEX usage_ledger_user ON usage_ledger (user_id, day);

-- Retention: 24 hours.
CREATE TABLE idempotency_keys (
  user_id     VARCHAR(64)  NOT NULL,
  route       VARCHAR(100) NOT NULL,
  idem_key    VARCHAR(200) NOT NULL,
  body_sha256 CHAR(64)     NOT NULL,
  ref_id      VARCHAR(64)  NOT NULL,
  created_at  BIGINT       NOT NULL,
  PRIMARY KEY (user_id, route, idem_key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- +goose Down
DROP TABLE idempotency_keys;
DROP TABLE usage_ledger;
DROP TABLE events;
DROP TABLE approvals;
DROP TABLE tool_calls;
DROP TABLE model_calls;
DROP TABLE runs;
DROP TABLE messages;
DROP TABLE conversations;
DROP TABLE api_tokens;
DROP TABLE users;
