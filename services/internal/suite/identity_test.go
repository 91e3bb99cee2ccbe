package suite

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

func TestEveryTargetMaySign(t *testing.T) {
	for target := range needs {
		if !auth.IsService(target) {
			t.Errorf("%s calls others, who take it for no service of ours", target)
		}
	}
}
