-- Each service has a database of its own, nanoclaw_<service>. The user nanoclaw
-- is made by the image, from MARIADB_USER and MARIADB_PASSWORD.
CREATE DATABASE IF NOT EXISTS nanoclaw_orchestrator CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE DATABASE IF NOT EXISTS nanoclaw_taskmanager CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE DATABASE IF NOT EXISTS nanoclaw_sandbox CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
GRANT ALL PRIVILEGES ON `nanoclaw\_%`.* TO 'nanoclaw'@'%';
