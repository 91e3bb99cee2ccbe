package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestAToolIsInvokedWithoutAModel(t *testing.T) {
	t.Parallel()
	w := world.New(t, answersScript)
	hands := w.StartHands(t)
	w.Config.Tools.AutoApprove = nil
	c := world.ClientOf(w.Start(t))
	const path, body = "/api/tools/hands__tally/invoke", `{"arguments":{"name":"by hand"}}`

	status, answer, _ := raw(t, c, "POST", path, body, "Idempotency-Key", "asked")
	hash, _ := answer["args_sha256"].(string)
	if status != 409 || answer["reason"] != "APPROVAL_REQUIRED" || len(hash) != 64 {
		t.Fatalf("a tool that writes: %d %v", status, answer)
	}
	confirmed := fmt.Sprintf(`{"arguments":{"name":"by hand"},"confirm_args_sha256":%q}`, hash)
	if status, answer, _ := raw(t, c, "POST", path, confirmed); status != 400 || answer["reason"] != "IDEMPOTENCY_KEY_REQUIRED" {
		t.Errorf("without a key: %d %v", status, answer)
	}
	other := strings.Replace(confirmed, "by hand", "by another hand", 1)
	if status, answer, _ := raw(t, c, "POST", path, other, "Idempotency-Key", "other"); status != 409 || answer["reason"] != "APPROVAL_REQUIRED" {
		t.Errorf("a yes to other arguments: %d %v", status, answer)
	}
	if hands.Count("by hand") != 0 || hands.Count("by another hand") != 0 {
		t.Error("something was counted before anybody said yes")
	}
	for range 2 { // the second time it is only told again
		status, answer, _ := raw(t, c, "POST", path, confirmed, "Idempotency-Key", "yes")
		data, _ := answer["data"].(map[string]any)
		if content, _ := data["content"].(string); status != 200 || !strings.Contains(content, `"count":1`) || data["is_error"] != false {
			t.Errorf("confirmed: %d %v", status, answer)
		}
	}
	if n := hands.Count("by hand"); n != 1 {
		t.Errorf("the effect was had %d times", n)
	}
	if status, answer, _ := raw(t, c, "POST", path, strings.Replace(confirmed, hash, strings.Repeat("0", 64), 1), "Idempotency-Key", "yes"); status != 409 {
		t.Errorf("the key with another body: %d %v", status, answer)
	}
	// What only reads needs neither.
	status, answer, _ = raw(t, c, "POST", "/api/tools/hands__look/invoke", `{"arguments":{"name":"by hand"}}`)
	if status != 200 || !strings.Contains(fmt.Sprint(answer), `"count":1`) {
		t.Errorf("a tool that reads: %d %v", status, answer)
	}
}
