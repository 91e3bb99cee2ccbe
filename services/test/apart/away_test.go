package apart

import (
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	searchv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/search/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestASearchThatComesLateAndGoesAndComesBack(t *testing.T) {
	t.Parallel()
	d := deploy(t, world.New(t, answering))
	d.start("orchestrator", "fetcher", "gateway")
	c := d.client()
	until(t, "the fetcher's tools are there", func() bool { return strings.Contains(tools(t, c), "fetch_page") })
	if got := tools(t, c); strings.Contains(got, "web_search") {
		t.Errorf("tools before search was started: %s", got)
	}
	run := c.Ask(t, c.Conversation(t), "only search, please")
	if got := run.Result(0)["error"]; run.Done["finish_reason"] != "stop" || !strings.Contains(text(got), "UNKNOWN_TOOL") {
		t.Errorf("without search the model was told %v and the run ended with %v", got, run.Done)
	}

	d.start("search")
	until(t, "the tools of search are there", func() bool { return strings.Contains(tools(t, c), "web_search") })
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))

	d.procs["search"].Kill()
	run = c.Ask(t, c.Conversation(t), "only search, please")
	if got := run.Result(0)["error"]; run.Done["finish_reason"] != "stop" || !strings.Contains(text(got), "PROVIDER_UNAVAILABLE") {
		t.Errorf("after search had died the model was told %v and the run ended with %v %v", got, run.Done, run.Error)
	}
	got, answer := c.JSON(t, "POST", "/api/search", map[string]any{"query": "nanoclaws"})
	if got != 503 || answer["reason"] != "UNAVAILABLE" || strings.Contains(text(answer), d.configs["search"].GRPC.Addr) {
		t.Errorf("a search after search had died: %d %v", got, answer)
	}

	d.start("search")
	until(t, "search answers again", func() bool {
		got, _ := c.JSON(t, "POST", "/api/search", map[string]any{"query": "nanoclaws"})
		return got == 200
	})
	until(t, "the model searches again", func() bool {
		run := c.Ask(t, c.Conversation(t), "Please look up nanoclaws")
		return strings.Contains(run.Text(3), world.Article)
	})
}

// otherKey is the file of a key that is not the deployment's.
func otherKey(t *testing.T) (file string, key ed25519.PrivateKey) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "other.key")
	key, _, err := auth.LoadOrCreateKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return file, key
}

func fingerprint(key ed25519.PrivateKey) string {
	return auth.Fingerprint(key.Public().(ed25519.PublicKey))
}

func TestASearchWithAnotherSigningKey(t *testing.T) {
	t.Parallel()
	d := deploy(t, world.New(t, answering))
	var other ed25519.PrivateKey
	d.configs["search"].Auth.SigningKeyFile, other = otherKey(t)
	d.startAll()
	c := d.client()

	got, answer := c.JSON(t, "POST", "/api/search", map[string]any{"query": "nanoclaws"})
	if got != 503 || answer["reason"] != auth.ReasonIdentityInvalid || !strings.Contains(text(answer), "do not accept each other") {
		t.Errorf("search through the gateway: %d %v", got, answer)
	}
	run := c.Ask(t, c.Conversation(t), "only search, please")
	if result := run.Result(0)["error"]; run.Done["finish_reason"] != "stop" || !strings.Contains(text(result), "UNKNOWN_TOOL") {
		t.Errorf("the model was told %v, the run ended with %v %v", result, run.Done, run.Error)
	}
	// Inside it is said what is wrong, with both keys.
	_, err := searchv1.NewSearchServiceClient(d.as("gateway", d.key, "search")).Search(
		auth.NewContext(deadline(t), auth.UserPrincipal("usr_1", auth.ScopeAll)), &searchv1.SearchRequest{Query: "nanoclaws"})
	if status.Code(err) != codes.Unauthenticated || rpcerr.Reason(err) != auth.ReasonIdentityInvalid {
		t.Errorf("search said %v", err)
	}
	for what, said := range map[string]string{"search's answer": text(err), "its log": d.procs["search"].Stderr(), "the orchestrator's log": d.procs["orchestrator"].Stderr()} {
		for _, part := range []string{fingerprint(d.key), fingerprint(other), "auth.signing_key_file"} {
			if !strings.Contains(said, part) {
				t.Errorf("%s lacks %q: %s", what, part, said)
			}
		}
	}
}

func TestAGatewayWithAnotherSigningKey(t *testing.T) {
	t.Parallel()
	d := deploy(t, world.New(t, answering))
	d.configs["gateway"].Auth.SigningKeyFile, _ = otherKey(t)
	d.startAll()
	c := d.client()
	for _, path := range []string{"/api/tools", "/api/conversations"} {
		if got, answer := c.JSON(t, "GET", path, nil); got != 503 || answer["reason"] != "IDENTITY_UNAVAILABLE" {
			t.Errorf("%s: %d %v", path, got, answer)
		}
	}
	if log := d.procs["orchestrator"].Stderr(); !strings.Contains(log, auth.ReasonIdentityInvalid) || !strings.Contains(log, fingerprint(d.key)) {
		t.Errorf("the orchestrator's log: %s", log)
	}
}

func text(v any) string { return fmt.Sprint(v) }
