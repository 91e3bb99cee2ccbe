// Package apart has the stories of services that run apart: each in a process of
// its own, calling each other over TCP with signed identities, on the disk of
// one machine and, with the build tag backends, on MySQL, Redis and S3 with
// several replicas. Every process is the real binary; the internet and the model
// are on loopback.
package apart

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
