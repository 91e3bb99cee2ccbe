// Package sandbox attacks the sandbox from where its users are: programs sent to
// the binary as it is shipped, over gRPC, which must get a typed answer, leave
// nothing behind and leave the service as it was. The whole corpus of attacks on
// the isolation itself is in services/sandbox/internal/isolate.
package sandbox

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		world.RemovePrograms()
		os.Exit(code)
	}))
}
