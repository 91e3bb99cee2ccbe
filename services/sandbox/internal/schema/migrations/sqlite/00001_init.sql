-- +goose Up

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
