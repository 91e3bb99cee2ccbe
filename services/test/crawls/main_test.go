// Package crawls has the stories of crawls: killed in the middle, asked for by a
// model, held to what robots.txt says. Every service is real and so is every
// process; the sites are on loopback.
package crawls

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
