package rpc_test

import (
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

func TestTargets(t *testing.T) {
	for _, tc := range []struct{ target, wrong string }{
		{"127.0.0.1:3001", ""}, {"[::1]:3001", ""}, {"search:3001", ""}, {"dns:///search.local:3001", ""}, {"dns://10.0.0.1/search:3001", ""},
		{"passthrough:///x", ""}, {"unix:///run/claw.sock", ""}, {"unix:claw.sock", ""}, {"unix-abstract:claw", ""},
		{"search", "not host:port"}, {"", "not host:port"}, {":3001", "not host:port"}, {"::1", "not host:port"}, {"dns:///search", "not host:port"},
		{"https://search:3001", "without https://"}, {"search:", "port"}, {"search:0", "port"}, {"search:65536", "port"}, {"search:http", "port"},
	} {
		err := rpc.CheckTarget(tc.target)
		if (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%q: %v, want %q", tc.target, err, tc.wrong)
		}
		conn, dialled := rpc.Dial(tc.target, rpc.DialConfig{})
		if (dialled == nil) != (err == nil) {
			t.Errorf("dial %q: %v", tc.target, dialled)
		}
		if conn != nil {
			_ = conn.Close()
		}
	}
}
