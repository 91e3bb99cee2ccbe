package runs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// drops is how many connections a reader loses.
const drops = 20

func TestARunIsReadWholeOverTwentyDroppedConnections(t *testing.T) {
	t.Parallel()
	w := world.New(t, longAnswer())
	w.Config.Runs.PerUser = 64
	c := world.ClientOf(w.Start(t))
	for _, seed := range seeds(t, sampletest.Count(4, 60)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			line := &badLine{Client: c, rng: sampletest.Random(seed), drops: drops, conversation: c.Conversation(t), page: w.Site.URL + "/article", key: fmt.Sprint("seed-", seed)}
			line.read(t)
			log := checkRun(t, c, line.conversation, line.run.RunID, &line.run, <-line.uncut)
			if log.Done == nil || len(log.Calls) != 5 || len(log.Results) != 5 || len(log.Restarts) != 0 {
				t.Errorf("done %v, %d calls, %d results, restarts %v", log.Done, len(log.Calls), len(log.Results), log.Restarts)
			}
			if last := log.Text(5); !strings.HasPrefix(last, textPiece(5, 0)) || !strings.HasSuffix(last, textPiece(5, 29)) || strings.Count(last, "\n") != 30 {
				t.Errorf("the answer is not what the model said: %q", last)
			}
			t.Logf("%d drops in the middle of %v", line.lost, line.where)
			if line.lost != drops {
				t.Errorf("%d connections were dropped, not %d", line.lost, drops)
			}
		})
	}
}

// longAnswer is a script of five rounds that takes about two seconds, with text
// in which a character is one to four bytes long.
func longAnswer() string {
	var b strings.Builder
	b.WriteString("turns:\n  - replies:\n")
	for round := 1; round <= 5; round++ {
		b.WriteString("      - steps:\n")
		for i := range 12 {
			fmt.Fprintf(&b, "          - reasoning: %q\n          - delay_ms: 6\n", fmt.Sprintf("Round %d, thought %d: größer, 大きい, 🦀. ", round, i))
		}
		for i := range 30 {
			fmt.Fprintf(&b, "          - text: %q\n          - delay_ms: 6\n", textPiece(round, i))
		}
		if round == 5 {
			continue // the answer
		}
		fmt.Fprintf(&b, "          - call: {name: fetch_page, arguments: {url: \"{{user}}?round=%d\"}}\n", round)
		if round == 1 {
			b.WriteString("          - call: {name: fetch_page, arguments: {url: \"{{user}}?beside=1\"}}\n")
		}
	}
	return b.String()
}

func textPiece(round, i int) string {
	return fmt.Sprintf("Round %d, piece %d: naïve 爪 🦞 text.\n", round, i)
}

// badLine is a reader whose connections break at random bytes.
type badLine struct {
	*world.Client
	rng          *rand.Rand
	drops        int
	conversation string
	page         string // that the model reads
	key          string

	run   world.Transcript
	uncut chan *world.Transcript // a reader without cuts
	cut   atomic.Bool            // the connection broke
	lost  int
	where map[string]int // the last event before each drop
}

func (l *badLine) read(t *testing.T) {
	l.where = map[string]int{}
	last := "the beginning"
	for !l.run.Ended() {
		budget := -1
		if l.lost < l.drops {
			budget = l.rng.IntN(6000)
		}
		broke := false
		l.cut.Store(false)
		err := l.connect(t.Context(), budget, func(e world.Event) bool {
			if (e.Name == "done" || e.Name == "error") && l.lost < l.drops {
				broke = true // the line breaks just before the end
				return false
			}
			last = e.Name
			more := l.run.Take(e)
			if e.Name == "run_started" && l.uncut == nil {
				l.follow(t)
			}
			return more
		})
		switch {
		case l.run.Ended():
		case broke, l.cut.Load():
			l.lost++
			l.where[last]++
		default:
			t.Fatalf("after %d drops: the stream ended by itself: %v", l.lost, err)
		}
	}
}

// follow reads the run without a cut.
func (l *badLine) follow(t *testing.T) {
	l.uncut = make(chan *world.Transcript, 1)
	run := &world.Transcript{RunID: l.run.RunID}
	go func() {
		run.Err = l.Resume(t.Context(), run)
		l.uncut <- run
	}()
}

// connect opens one connection that breaks after budget bytes, never when
// negative. As long as the run's id is not known the message is sent again with
// the same key, which attaches to the run.
func (l *badLine) connect(ctx context.Context, budget int, got func(world.Event) bool) error {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil || budget < 0 {
			return conn, err
		}
		return &cutConn{Conn: conn, left: budget, cut: &l.cut, reset: budget%2 == 0}, nil
	}}
	defer transport.CloseIdleConnections()
	c := *l.Client
	c.HTTP = &http.Client{Transport: transport}
	if l.run.RunID == "" {
		return c.Send(ctx, l.conversation, map[string]any{"content": l.page}, got, "Idempotency-Key", l.key)
	}
	return c.Watch(ctx, l.run.RunID, l.run.LastID, got)
}

var errCut = errors.New("the line was cut")

// cutConn breaks after some bytes were read, in order or with a reset.
type cutConn struct {
	net.Conn
	left  int
	cut   *atomic.Bool
	reset bool
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		c.cut.Store(true)
		if tcp, ok := c.Conn.(*net.TCPConn); ok && c.reset {
			_ = tcp.SetLinger(0)
		}
		_ = c.Conn.Close()
		return 0, errCut
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}
