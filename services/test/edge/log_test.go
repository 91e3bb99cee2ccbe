package edge

import (
	"bytes"
	"log/slog"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
)

// quiet is for suites whose log is not looked at.
var quiet = slog.New(slog.DiscardHandler)

// logbook keeps what a suite logs, down to debug.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logbook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logbook) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// keep makes a suite log into the book, with the product's own handler.
func (b *logbook) keep(o *suite.Options) {
	var err error
	if o.Logger, err = telemetry.NewLogger(b, slog.LevelDebug, "text"); err != nil {
		panic(err) // "text" is a format
	}
}
