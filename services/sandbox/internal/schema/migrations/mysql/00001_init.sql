-- +goose Up

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
