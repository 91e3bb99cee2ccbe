-- Times are unix milliseconds, ids are made by the client (prefix + ULID) and
-- sort by age. Every table names its retention.

-- +goose Up

-- Retention: kept while the user has tasks. The row is what those lock who count
-- the user's tasks.
CREATE TABLE crawl_users (
  user_id    VARCHAR(64) NOT NULL PRIMARY KEY,
  created_at BIGINT      NOT NULL
);

-- Retention: 90 days after the task's end. rev changes with every change of the
-- task or of its frontier. swept_at is when its results were removed.
CREATE TABLE crawl_tasks (
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
  error_message TEXT        NOT NULL,
  trace_parent  VARCHAR(64) NOT NULL,
  created_at    BIGINT      NOT NULL,
  started_at    BIGINT      NOT NULL,
  completed_at  BIGINT      NOT NULL,
  swept_at      BIGINT      NOT NULL
);
CREATE INDEX crawl_tasks_user ON crawl_tasks (user_id, id);
CREATE INDEX crawl_tasks_status ON crawl_tasks (status, completed_at);

-- Retention: 14 days after the end of its task. One row an address. state is 0
-- open, 2 done, 3 failed, 4 skipped. robots_until is how long robots.txt is known
-- to allow the address.
CREATE TABLE crawl_frontier (
  task_id      VARCHAR(64)   NOT NULL,
  url_key      VARBINARY(16) NOT NULL,
  ordinal      INT           NOT NULL,
  origin       VARCHAR(300)  NOT NULL,
  host         VARCHAR(300)  NOT NULL,
  url          TEXT          NOT NULL,
  state        INT           NOT NULL,
  attempts     INT           NOT NULL,
  blocks       INT           NOT NULL,
  losses       INT           NOT NULL,
  not_before   BIGINT        NOT NULL,
  robots_until BIGINT        NOT NULL,
  PRIMARY KEY (task_id, url_key)
) WITHOUT ROWID;

-- Retention: 7 days after the host was last asked. One row a host:port over all
-- tasks: when it may be asked again, and who is at it.
CREATE TABLE crawl_hosts (
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
  reason          TEXT         NOT NULL,
  updated_at      BIGINT       NOT NULL
);
CREATE INDEX crawl_hosts_updated ON crawl_hosts (updated_at);

-- Retention: 1 hour after the lease's end, so that a commit that is sent again
-- is answered as before. url_keys are the keys of its addresses, 16 bytes each;
-- parts is what was recorded by each part, separated by commas, and clean how many
-- pages came that the row of the host does not know of yet.
CREATE TABLE crawl_leases (
  id          VARCHAR(64)  NOT NULL PRIMARY KEY,
  task_id     VARCHAR(64)  NOT NULL,
  host        VARCHAR(300) NOT NULL,
  origin      VARCHAR(300) NOT NULL,
  worker_id   VARCHAR(64)  NOT NULL,
  state       VARCHAR(16)  NOT NULL,
  parallel    INT          NOT NULL,
  url_keys    BLOB         NOT NULL,
  parts       TEXT         NOT NULL,
  clean       INT          NOT NULL,
  lease_until BIGINT       NOT NULL,
  created_at  BIGINT       NOT NULL,
  ended_at    BIGINT       NOT NULL
);
CREATE INDEX crawl_leases_task ON crawl_leases (task_id, state);
CREATE INDEX crawl_leases_state ON crawl_leases (state, lease_until);

-- Retention: 14 days after the end of its task, with the blobs that content_key
-- names. One row an address that is done with. data is a CrawlData; its content
-- is in the blob when there is a content_key.
CREATE TABLE crawl_results (
  task_id        VARCHAR(64)   NOT NULL,
  seq            INT           NOT NULL,
  url_key        VARBINARY(16) NOT NULL,
  url            TEXT          NOT NULL,
  ok             BOOLEAN       NOT NULL,
  data           BLOB          NOT NULL,
  content_key    VARCHAR(200)  NOT NULL,
  content_sha256 VARCHAR(64)   NOT NULL,
  reason         VARCHAR(64)   NOT NULL,
  error          TEXT          NOT NULL,
  status_code    INT           NOT NULL,
  attempts       INT           NOT NULL,
  duration_ms    INT           NOT NULL,
  fetched_at     BIGINT        NOT NULL,
  PRIMARY KEY (task_id, seq),
  UNIQUE (task_id, url_key)
);

-- Retention: 14 days after the end of its task. data is a CrawlEvent.
CREATE TABLE crawl_events (
  task_id    VARCHAR(64) NOT NULL,
  seq        INT         NOT NULL,
  type       VARCHAR(32) NOT NULL,
  data       BLOB        NOT NULL,
  created_at BIGINT      NOT NULL,
  PRIMARY KEY (task_id, seq)
) WITHOUT ROWID;

-- Retention: 24 hours.
CREATE TABLE idempotency_keys (
  user_id     VARCHAR(64)  NOT NULL,
  idem_key    VARCHAR(200) NOT NULL,
  body_sha256 CHAR(64)     NOT NULL,
  task_id     VARCHAR(64)  NOT NULL,
  created_at  BIGINT       NOT NULL,
  PRIMARY KEY (user_id, idem_key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Retention: 7 days after the call's end. finished_at is 0 while it runs.
CREATE TABLE effect_keys (
  caller       VARCHAR(200) NOT NULL,
  tool         VARCHAR(64)  NOT NULL,
  effect_key   VARCHAR(128) NOT NULL,
  args_hash    VARCHAR(64)  NOT NULL,
  state        VARCHAR(16)  NOT NULL,
  owner        VARCHAR(64)  NOT NULL,
  content_json TEXT         NOT NULL,
  is_error     BOOLEAN      NOT NULL,
  origins      TEXT         NOT NULL,
  cost_usd     DOUBLE       NOT NULL,
  started_at   BIGINT       NOT NULL,
  finished_at  BIGINT       NOT NULL,
  PRIMARY KEY (caller, tool, effect_key)
);
CREATE INDEX effect_keys_finished ON effect_keys (finished_at);

-- Retention: 7 days after the time until which the process is known to live.
CREATE TABLE effect_owners (
  owner       VARCHAR(64) NOT NULL PRIMARY KEY,
  alive_until BIGINT      NOT NULL
);

-- +goose Down
DROP TABLE effect_owners;
DROP TABLE effect_keys;
DROP TABLE idempotency_keys;
DROP TABLE crawl_events;
DROP TABLE crawl_results;
DROP TABLE crawl_leases;
DROP TABLE crawl_hosts;
DROP TABLE crawl_frontier;
DROP TABLE crawl_tasks;
DROP TABLE crawl_users;
