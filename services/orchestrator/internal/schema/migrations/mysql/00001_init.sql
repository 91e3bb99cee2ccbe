-- The same tables as those of sqlite, see there what they mean. What is not
-- bounded by us and is in no index has a type without a length, so that nothing
-- is refused that SQLite takes. A server cannot undo changes of a schema: every
-- statement can be run again after the migration was cut short.

-- +goose Up

CREATE TABLE IF NOT EXISTS users (
  id         VARCHAR(64)  NOT NULL PRIMARY KEY,
  name       VARCHAR(200) NOT NULL UNIQUE,
  created_at BIGINT       NOT NULL
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS api_tokens (
  id           VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id      VARCHAR(64)  NOT NULL,
  name         VARCHAR(100) NOT NULL,
  hash         CHAR(64)     NOT NULL UNIQUE,
  prefix       VARCHAR(16)  NOT NULL,
  scopes       TEXT         NOT NULL,
  created_at   BIGINT       NOT NULL,
  expires_at   BIGINT       NOT NULL,
  last_used_at BIGINT       NOT NULL,
  INDEX api_tokens_user (user_id, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS conversations (
  id            VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id       VARCHAR(64)  NOT NULL,
  title         VARCHAR(200) NOT NULL,
  model         VARCHAR(128) NOT NULL,
  system_prompt MEDIUMTEXT   NOT NULL,
  active_leaf   VARCHAR(64)  NOT NULL,
  live_run      VARCHAR(64)  NOT NULL,
  created_at    BIGINT       NOT NULL,
  updated_at    BIGINT       NOT NULL,
  INDEX conversations_user (user_id, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS messages (
  id              VARCHAR(64) NOT NULL PRIMARY KEY,
  conversation_id VARCHAR(64) NOT NULL,
  user_id         VARCHAR(64) NOT NULL,
  parent_id       VARCHAR(64) NOT NULL,
  path_length     INT         NOT NULL,
  role            VARCHAR(16) NOT NULL,
  content         MEDIUMTEXT  NOT NULL,
  run_id          VARCHAR(64) NOT NULL,
  origins         MEDIUMTEXT  NOT NULL,
  created_at      BIGINT      NOT NULL,
  INDEX messages_conversation (conversation_id, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS runs (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  conversation_id  VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  user_message_id  VARCHAR(64)  NOT NULL,
  message_id       VARCHAR(64)  NOT NULL,
  model            VARCHAR(128) NOT NULL,
  tools_enabled    BOOLEAN      NOT NULL,
  status           VARCHAR(16)  NOT NULL,
  waiting_for      TEXT         NOT NULL,
  finish_reason    TEXT         NOT NULL,
  error_code       INT          NOT NULL,
  error_reason     TEXT         NOT NULL,
  error_message    MEDIUMTEXT   NOT NULL,
  error_retryable  BOOLEAN      NOT NULL,
  rounds           INT          NOT NULL,
  last_seq         INT          NOT NULL,
  lease_owner      VARCHAR(64)  NOT NULL,
  lease_addr       VARCHAR(200) NOT NULL,
  lease_epoch      INT          NOT NULL,
  lease_until      BIGINT       NOT NULL,
  takeovers        INT          NOT NULL,
  cancel_requested BOOLEAN      NOT NULL,
  origins          MEDIUMTEXT   NOT NULL,
  trace_id         VARCHAR(32)  NOT NULL,
  trace_parent     VARCHAR(64)  NOT NULL,
  created_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL,
  INDEX runs_status (status, lease_until),
  INDEX runs_user_status (user_id, status),
  INDEX runs_conversation (conversation_id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS model_calls (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  run_id           VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  round            INT          NOT NULL,
  attempt          INT          NOT NULL,
  state            VARCHAR(16)  NOT NULL,
  model            VARCHAR(128) NOT NULL,
  text             MEDIUMTEXT   NOT NULL,
  reasoning        MEDIUMTEXT   NOT NULL,
  reasoning_field  TEXT         NOT NULL,
  extra            MEDIUMTEXT   NOT NULL,
  finish           TEXT         NOT NULL,
  input_tokens     BIGINT       NOT NULL,
  output_tokens    BIGINT       NOT NULL,
  cached_tokens    BIGINT       NOT NULL,
  reasoning_tokens BIGINT       NOT NULL,
  usage_estimated  BOOLEAN      NOT NULL,
  request_id       TEXT         NOT NULL,
  error            MEDIUMTEXT   NOT NULL,
  started_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL,
  UNIQUE (run_id, round, attempt)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS tool_calls (
  id               VARCHAR(64)  NOT NULL PRIMARY KEY,
  run_id           VARCHAR(64)  NOT NULL,
  conversation_id  VARCHAR(64)  NOT NULL,
  user_id          VARCHAR(64)  NOT NULL,
  round            INT          NOT NULL,
  ordinal          INT          NOT NULL,
  provider_call_id TEXT         NOT NULL,
  name             TEXT         NOT NULL,
  arguments        MEDIUMTEXT   NOT NULL,
  extra            MEDIUMTEXT   NOT NULL,
  args_canonical   MEDIUMTEXT   NOT NULL,
  args_sha256      VARCHAR(64)  NOT NULL,
  effect           VARCHAR(16)  NOT NULL,
  effect_key       VARCHAR(64)  NOT NULL UNIQUE,
  state            VARCHAR(20)  NOT NULL,
  decision         VARCHAR(16)  NOT NULL,
  reason           TEXT         NOT NULL,
  attempt          INT          NOT NULL,
  result           MEDIUMTEXT   NOT NULL,
  result_blob      VARCHAR(200) NOT NULL,
  result_chars     INT          NOT NULL,
  model_text       MEDIUMTEXT   NOT NULL,
  is_error         BOOLEAN      NOT NULL,
  truncated        BOOLEAN      NOT NULL,
  origins          MEDIUMTEXT   NOT NULL,
  cost_usd         DOUBLE       NOT NULL,
  trace_id         VARCHAR(32)  NOT NULL,
  created_at       BIGINT       NOT NULL,
  started_at       BIGINT       NOT NULL,
  ended_at         BIGINT       NOT NULL,
  INDEX tool_calls_run (run_id, round, ordinal),
  INDEX tool_calls_user (user_id, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS approvals (
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
  decided_at   BIGINT      NOT NULL,
  INDEX approvals_user (user_id, state, id),
  INDEX approvals_run (run_id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS events (
  run_id     VARCHAR(64) NOT NULL,
  seq        INT         NOT NULL,
  type       VARCHAR(32) NOT NULL,
  data       LONGBLOB    NOT NULL,
  created_at BIGINT      NOT NULL,
  PRIMARY KEY (run_id, seq)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS usage_ledger (
  call_id       VARCHAR(64)  NOT NULL PRIMARY KEY,
  user_id       VARCHAR(64)  NOT NULL,
  kind          VARCHAR(8)   NOT NULL,
  day           CHAR(10)     NOT NULL,
  model         VARCHAR(128) NOT NULL,
  tool          TEXT         NOT NULL,
  input_tokens  BIGINT       NOT NULL,
  output_tokens BIGINT       NOT NULL,
  cached_tokens BIGINT       NOT NULL,
  cost_usd      DOUBLE       NOT NULL,
  INDEX usage_ledger_user (user_id, day)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS idempotency_keys (
  user_id     VARCHAR(64)    NOT NULL,
  route       VARCHAR(100)   NOT NULL,
  idem_key    VARBINARY(800) NOT NULL,
  body_sha256 CHAR(64)       NOT NULL,
  ref_id      VARCHAR(64)    NOT NULL,
  created_at  BIGINT         NOT NULL,
  PRIMARY KEY (user_id, route, idem_key),
  INDEX idempotency_keys_age (created_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS idempotency_keys;
DROP TABLE IF EXISTS usage_ledger;
DROP TABLE IF EXISTS events;
DROP TABLE IF EXISTS approvals;
DROP TABLE IF EXISTS tool_calls;
DROP TABLE IF EXISTS model_calls;
DROP TABLE IF EXISTS runs;
DROP TABLE IF EXISTS messages;
DROP TABLE IF EXISTS conversations;
DROP TABLE IF EXISTS api_tokens;
DROP TABLE IF EXISTS users;
