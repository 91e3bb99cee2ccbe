-- The same tables as those of sqlite, see there what they mean. What is not
-- bounded by us and is in no index has a type without a length, so that nothing
-- is refused that SQLite takes. A server cannot undo changes of a schema: every
-- statement can be run again after the migration was cut short.

-- +goose Up

CREATE TABLE IF NOT EXISTS crawl_users (
  user_id    VARCHAR(64) NOT NULL PRIMARY KEY,
  created_at BIGINT      NOT NULL
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_tasks (
  id            VARCHAR(64) NOT NULL PRIMARY KEY,
  user_id       VARCHAR(64) NOT NULL,
  extract_type  VARCHAR(16) NOT NULL,
  parallel      INT         NOT NULL,
  status        VARCHAR(16) NOT NULL,
  outcome       VARCHAR(16) NOT NULL,
  total         INT         NOT NULL,
  succeeded     INT         NOT NULL,
  failed        INT         NOT NULL,
  skipped       INT         NOT NULL,
  last_seq      INT         NOT NULL,
  result_seq    INT         NOT NULL,
  rev           INT         NOT NULL,
  error_message MEDIUMTEXT  NOT NULL,
  trace_parent  VARCHAR(64) NOT NULL,
  created_at    BIGINT      NOT NULL,
  started_at    BIGINT      NOT NULL,
  completed_at  BIGINT      NOT NULL,
  swept_at      BIGINT      NOT NULL,
  INDEX crawl_tasks_user (user_id, id),
  INDEX crawl_tasks_status (status, completed_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_frontier (
  task_id      VARCHAR(64)   NOT NULL,
  url_key      VARBINARY(16) NOT NULL,
  ordinal      INT           NOT NULL,
  origin       VARCHAR(300)  NOT NULL,
  host         VARCHAR(300)  NOT NULL,
  url          MEDIUMTEXT    NOT NULL,
  state        INT           NOT NULL,
  attempts     INT           NOT NULL,
  blocks       INT           NOT NULL,
  losses       INT           NOT NULL,
  not_before   BIGINT        NOT NULL,
  robots_until BIGINT        NOT NULL,
  PRIMARY KEY (task_id, url_key)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_hosts (
  host            VARCHAR(300) NOT NULL PRIMARY KEY,
  next_at         BIGINT       NOT NULL,
  lease_id        VARCHAR(64)  NOT NULL,
  lease_until     BIGINT       NOT NULL,
  crawl_delay_ms  INT          NOT NULL,
  robots_until    BIGINT       NOT NULL,
  robots_failures INT          NOT NULL,
  parallel        INT          NOT NULL,
  clean           INT          NOT NULL,
  latency_ms      INT          NOT NULL,
  failures        INT          NOT NULL,
  opens           INT          NOT NULL,
  blocks          INT          NOT NULL,
  reason          MEDIUMTEXT   NOT NULL,
  updated_at      BIGINT       NOT NULL,
  INDEX crawl_hosts_updated (updated_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_leases (
  id          VARCHAR(64)  NOT NULL PRIMARY KEY,
  task_id     VARCHAR(64)  NOT NULL,
  host        VARCHAR(300) NOT NULL,
  origin      VARCHAR(300) NOT NULL,
  worker_id   VARCHAR(64)  NOT NULL,
  state       VARCHAR(16)  NOT NULL,
  parallel    INT          NOT NULL,
  url_keys    LONGBLOB     NOT NULL,
  parts       MEDIUMTEXT   NOT NULL,
  clean       INT          NOT NULL,
  lease_until BIGINT       NOT NULL,
  created_at  BIGINT       NOT NULL,
  ended_at    BIGINT       NOT NULL,
  INDEX crawl_leases_task (task_id, state),
  INDEX crawl_leases_state (state, lease_until)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_results (
  task_id        VARCHAR(64)   NOT NULL,
  seq            INT           NOT NULL,
  url_key        VARBINARY(16) NOT NULL,
  url            MEDIUMTEXT    NOT NULL,
  ok             BOOLEAN       NOT NULL,
  data           LONGBLOB      NOT NULL,
  content_key    VARCHAR(200)  NOT NULL,
  content_sha256 VARCHAR(64)   NOT NULL,
  reason         VARCHAR(64)   NOT NULL,
  error          MEDIUMTEXT    NOT NULL,
  status_code    INT           NOT NULL,
  attempts       INT           NOT NULL,
  duration_ms    INT           NOT NULL,
  fetched_at     BIGINT        NOT NULL,
  PRIMARY KEY (task_id, seq),
  UNIQUE (task_id, url_key)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS crawl_events (
  task_id    VARCHAR(64) NOT NULL,
  seq        INT         NOT NULL,
  type       VARCHAR(32) NOT NULL,
  data       LONGBLOB    NOT NULL,
  created_at BIGINT      NOT NULL,
  PRIMARY KEY (task_id, seq)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS idempotency_keys (
  user_id     VARCHAR(64)    NOT NULL,
  idem_key    VARBINARY(800) NOT NULL,
  body_sha256 CHAR(64)       NOT NULL,
  task_id     VARCHAR(64)    NOT NULL,
  created_at  BIGINT         NOT NULL,
  PRIMARY KEY (user_id, idem_key),
  INDEX idempotency_keys_age (created_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS effect_keys (
  caller       VARBINARY(200) NOT NULL,
  tool         VARCHAR(64)    NOT NULL,
  effect_key   VARBINARY(128) NOT NULL,
  args_hash    VARCHAR(64)    NOT NULL,
  state        VARCHAR(16)    NOT NULL,
  owner        VARCHAR(64)    NOT NULL,
  content_json LONGTEXT       NOT NULL,
  is_error     BOOLEAN        NOT NULL,
  origins      MEDIUMTEXT     NOT NULL,
  cost_usd     DOUBLE         NOT NULL,
  started_at   BIGINT         NOT NULL,
  finished_at  BIGINT         NOT NULL,
  PRIMARY KEY (caller, tool, effect_key),
  INDEX effect_keys_finished (finished_at)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS effect_owners (
  owner       VARCHAR(64) NOT NULL PRIMARY KEY,
  alive_until BIGINT      NOT NULL
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS effect_owners;
DROP TABLE IF EXISTS effect_keys;
DROP TABLE IF EXISTS idempotency_keys;
DROP TABLE IF EXISTS crawl_events;
DROP TABLE IF EXISTS crawl_results;
DROP TABLE IF EXISTS crawl_leases;
DROP TABLE IF EXISTS crawl_hosts;
DROP TABLE IF EXISTS crawl_frontier;
DROP TABLE IF EXISTS crawl_tasks;
DROP TABLE IF EXISTS crawl_users;
