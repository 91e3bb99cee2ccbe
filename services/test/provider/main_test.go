// Package provider has the stories of models: what their endpoints send, asked for
// over REST as a user asks, through the suite with every service real. The
// endpoints and a tool of somebody else are on loopback.
package provider

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
