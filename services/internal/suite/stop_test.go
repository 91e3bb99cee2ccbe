package suite_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

func TestACollectorThatIsAwayIsNoWorkThatWasCutOff(t *testing.T) {
	cfg := suite.DefaultConfig()
	cfg.DataDir = t.TempDir()
	cfg.Telemetry.Exporter, cfg.Telemetry.OTLPEndpoint = "otlp", "http://127.0.0.1:1"
	var said bytes.Buffer
	s, err := suite.Start(t.Context(), cfg, suite.Options{
		Targets: []string{suite.TargetFetcher}, Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
	if strings.Contains(said.String(), "cut off") {
		t.Error(said.String())
	}
}
