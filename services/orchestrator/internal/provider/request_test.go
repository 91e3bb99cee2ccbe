package provider

import (
	"encoding/json"
	"testing"
)

// sentBody is the body of the request that req becomes.
func sentBody(t testing.TB, req Request, c concessions) map[string]any {
	t.Helper()
	first, err := json.Marshal(wireRequest(req))
	if err != nil {
		t.Fatal(err)
	}
	body, err := rewriteBody(first, "real-model", req, c)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("body is not JSON: %v\n%s", err, body)
	}
	return out
}
