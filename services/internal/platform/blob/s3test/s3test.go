// Package s3test starts a real S3 server for tests: versitygw, which keeps
// objects in a folder. `make test-backends` builds it.
package s3test

import (
	"bytes"
	"crypto/rand"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
)

// EnvGateway names the variable with the path of the versitygw program;
// bin/tools/versitygw of this repository holds without.
const EnvGateway = "NANOCLAW_TEST_S3_GATEWAY"

const startTimeout = 30 * time.Second

// Server is a running S3 server. Its keys stand in the AWS_* variables.
type Server struct {
	// Addr is its host:port.
	Addr string
	// Key and Secret are its keys.
	Key, Secret string

	root string
}

// Start starts a server for one test, stopped at its end. Without the program
// the test fails. It sets variables, so the test cannot run beside others.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{Key: rand.Text(), Secret: rand.Text(), root: t.TempDir()}
	SetKeys(t, s.Key, s.Secret)
	s.start(t)
	return s
}

// SetKeys makes these the keys that are found, and no others: whatever this
// machine has is out of sight.
func SetKeys(t testing.TB, key, secret string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_CA_BUNDLE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_ROLE_ARN": "",
	} {
		t.Setenv(name, value)
	}
}

func (s *Server) start(t testing.TB) {
	t.Helper()
	s.Addr = addrtest.Reserve(t)
	// What an object is besides its bytes goes to a folder beside: not every file
	// system keeps attributes.
	cmd := exec.Command(program(t), "--port", s.Addr, "--quiet", "posix", "--sidecar", t.TempDir(), s.root)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+s.Key, "ROOT_SECRET_ACCESS_KEY="+s.Secret)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the S3 server: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed at the end, as a rule
		close(ended)
	}()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	t.Cleanup(stop)
	if !answers(s.Addr, ended) {
		stop()
		t.Fatalf("the S3 server at %s did not start:\n%s", s.Addr, &output)
	}
}

// answers waits until somebody listens, or the server has ended.
func answers(addr string, ended <-chan struct{}) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(startTimeout)
	for {
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = conn.Close()
			return true
		}
		select {
		case <-tick.C:
		case <-ended:
			return false
		case <-late:
			return false
		}
	}
}

// program finds versitygw.
func program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv(EnvGateway); path != "" {
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err != nil {
			continue
		}
		path := filepath.Join(dir, "bin", "tools", "versitygw")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		break
	}
	t.Fatalf("no S3 server to test with: run `make test-backends`, which builds one, or name versitygw with %s", EnvGateway)
	return ""
}

// Bucket makes a new, empty bucket and answers its location for blob.Open.
func (s *Server) Bucket(t testing.TB) string {
	t.Helper()
	name := "b-" + string(bytes.ToLower([]byte(rand.Text())))
	if err := os.Mkdir(filepath.Join(s.root, name), 0o700); err != nil {
		t.Fatal(err)
	}
	return s.Location(name)
}

// Location is the location of a bucket, which may not be there.
func (s *Server) Location(bucket string) string {
	return "s3://" + bucket + "?" + url.Values{"endpoint": {"http://" + s.Addr}, "region": {"us-east-1"}}.Encode()
}
