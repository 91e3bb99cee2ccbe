package isolate

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(asVictim) != "" {
		os.Exit(beVictim())
	}
	goleak.VerifyTestMain(m)
}
