package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", to add users

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
)

// users call the server. There are many, since each may make 100 calls a second
// only: the limits stay as they are shipped.
const users = 200

// config is the configuration of the server under test: as shipped, but for
// more runs at once.
const config = `
data_dir: %q
http: {addr: "127.0.0.1:0"}
grpc: {addr: "127.0.0.1:0"}
admin: {addr: %q}
log: {level: warn}
models: [{id: bench, api_url: %q, api_key: a-key-for-benchmarks}]
default_model: bench
runs: {per_user: 20, per_process: 2000}
`

// server is the suite under test, all services in one process.
type server struct {
	*process
	http, grpc, admin string // addresses
	// tokenFile has the token of a user a line.
	tokenFile string
	dir       string
}

var readyLine = regexp.MustCompile(`http://([^/]+)/.* \(gRPC ([^,]+),`)

// serve starts the suite on an empty data folder, with users.
func (b *bench) serve(ctx context.Context, modelURL string, more ...string) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, err
	}
	s, err := b.serveIn(ctx, dir, modelURL, more...)
	if err != nil {
		return nil, err
	}
	if err := s.addUsers(ctx); err != nil {
		s.stop()
		return nil, fmt.Errorf("add users: %w", err)
	}
	return s, nil
}

// serveIn starts the suite on a folder, with more lines of configuration.
func (b *bench) serveIn(ctx context.Context, dir, modelURL string, more ...string) (*server, error) {
	s := &server{dir: dir, tokenFile: filepath.Join(dir, "tokens")}
	var err error
	if s.admin, err = addrtest.Choose(); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(file, fmt.Appendf(nil, config+strings.Join(more, "\n")+"\n", s.data(), s.admin, modelURL), 0o600); err != nil {
		return nil, err
	}
	if s.process, err = launch(ctx, b.binary, "serve", "--config", file); err != nil {
		return nil, err
	}
	found := readyLine.FindStringSubmatch(s.ready)
	if found == nil {
		s.stop()
		return nil, fmt.Errorf("no addresses in %q", s.ready)
	}
	s.http, s.grpc = found[1], found[2]
	return s, nil
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// addUsers writes users with a token each into the database: the product itself
// makes one user only, its owner.
func (s *server) addUsers(ctx context.Context) error {
	dsn := url.URL{Scheme: "file", Path: filepath.Join(s.data(), "orchestrator.db"), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	now := time.Now().UnixMilli()
	var tokens strings.Builder
	for i := range users {
		name := fmt.Sprintf("bench%03d", i)
		token := "nc_" + name + strings.Repeat("x", 35)
		sum := sha256.Sum256([]byte(token))
		if _, err := tx.ExecContext(ctx, "INSERT INTO users (id, name, created_at) VALUES (?, ?, ?)", "usr_"+name, name, now); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO api_tokens (id, user_id, name, hash, prefix, scopes, created_at, expires_at, last_used_at)
			VALUES (?, ?, 'bench', ?, ?, '*', ?, 0, 0)`, "tok_"+name, "usr_"+name, hex.EncodeToString(sum[:]), token[:9], now); err != nil {
			return err
		}
		fmt.Fprintln(&tokens, token)
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return os.WriteFile(s.tokenFile, []byte(tokens.String()), 0o600)
}

// readTokens reads a token file.
func readTokens(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(text)), nil
}

// goroutines asks the server how many it has.
func (s *server) goroutines(ctx context.Context) (n int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/debug/pprof/goroutine?debug=1", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(string(body), "goroutine profile: total %d", &n); err != nil {
		return 0, fmt.Errorf("%s: %w: %.100s", req.URL, err, body)
	}
	return n, nil
}
