package topk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
)

func count(t *testing.T, text string, q Query) Answer {
	t.Helper()
	got, err := Count(t.Context(), strings.NewReader(text), int64(len(text)), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func lines(a Answer) []string {
	var out []string
	for _, l := range a.Lines {
		out = append(out, fmt.Sprintf("%s (x%d)", l.Text, l.Count))
	}
	return out
}

func TestTheMostFrequentLines(t *testing.T) {
	long := strings.Repeat("y", MaxLineBytes+10)
	for _, tc := range []struct {
		name, text, pattern string
		k                   int
		want                []string
	}{
		{"most frequent first", "a\nb\nb\nc\nc\nc\n", "", 2, []string{"c (x3)", "b (x2)"}},
		{"equal ones by first appearance", "z\na\nm\na\nz\nm\n", "", 3, []string{"z (x2)", "a (x2)", "m (x2)"}},
		{"white space around a line does not count", "  a\na\t\n\u00a0a\r\na", "", 3, []string{"a (x4)"}},
		{"blank lines are skipped", "\n\n \t\na\n\r\n", "", 3, []string{"a (x1)"}},
		{"the last line needs no end", "b\na\nb", "", 1, []string{"b (x2)"}},
		{"a byte order mark is no part of a line", "\xef\xbb\xbfa\na\n", "", 3, []string{"a (x2)"}},
		{"fewer lines than asked for", "a\n", "", 100, []string{"a (x1)"}},
		{"nothing", "", "", 3, nil},
		{"a pattern selects", "ERROR x\nINFO y\nINFO y\nERROR x\nERROR z\n", "^ERROR", 3, []string{"ERROR x (x2)", "ERROR z (x1)"}},
		{"a pattern that nothing matches", "a\n", "b", 3, nil},
		{"bytes that are no UTF-8", "a\xff\na\xff\na\xfe\n", "", 3, []string{"a\uFFFD (x2)", "a\uFFFD (x1)"}},
		{"zero bytes", "\x00\x00a\n", "", 3, []string{"\uFFFD\uFFFDa (x1)"}},
		{"long lines are cut", long + "1\n" + long + "2\nb\n", "", 1, []string{strings.Repeat("y", MaxShownRunes) + "… (x2)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			q := Query{K: tc.k}
			if tc.pattern != "" {
				q.Pattern = regexp.MustCompile(tc.pattern)
			}
			got := count(t, tc.text, q)
			if !slices.Equal(lines(got), tc.want) || !got.Exact {
				t.Errorf("got %q, exact %t; want %q", lines(got), got.Exact, tc.want)
			}
		})
	}
}

func TestWhatWasReadIsTold(t *testing.T) {
	got := count(t, "a\n\nb\nb\nc\n"+strings.Repeat("x", 2*MaxLineBytes), Query{K: 1, Pattern: regexp.MustCompile("[ab]")})
	if got.Read != 6 || got.Blank != 1 || got.Counted != 3 || got.Distinct != 2 || got.Cut != 1 {
		t.Errorf("%+v", got)
	}
}

// Beyond the number of lines that are told apart, what is frequent is still
// found, and by how much its number may be too low is told.
func TestMoreDifferentLinesThanAreRemembered(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	want := map[string]int64{}
	for i := range 50_000 {
		line := fmt.Sprintf("rare %d", i)
		if random.IntN(10) == 0 {
			line = fmt.Sprintf("often %d", random.IntN(3))
		}
		want[line]++
		fmt.Fprintln(&text, line)
	}
	got := count(t, text.String(), Query{K: 3, MaxDistinct: 1000})
	if got.Exact || got.Distinct > 1000 {
		t.Errorf("exact %t, %d lines remembered", got.Exact, got.Distinct)
	}
	for _, l := range got.Lines {
		if n := want[l.Text]; !strings.HasPrefix(l.Text, "often") || l.Count > n || l.Count+l.Missed < n {
			t.Errorf("%q: %d to %d times, in truth %d", l.Text, l.Count, l.Count+l.Missed, n)
		}
	}
}

func TestCountingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Count(ctx, strings.NewReader("a"), 1, Query{K: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// changing answers other bytes when it is read again.
type changing struct{ reads int }

func (c *changing) ReadAt(p []byte, _ int64) (int, error) {
	c.reads++
	return copy(p, strings.Repeat(fmt.Sprintf("%d\n", c.reads), 5)), io.EOF
}

func TestATextThatChangesIsNotAnsweredWrongly(t *testing.T) {
	if _, err := Count(t.Context(), &changing{}, 10, Query{K: 1}); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v", err)
	}
}

// A log of 200 MB in the full count, of 10 MB otherwise, is counted with the
// memory of its different lines.
func TestABigLogIsCountedInLittleMemory(t *testing.T) {
	size := int64(sampletest.Count(10<<20, 200<<20))
	f, err := os.Create(filepath.Join(t.TempDir(), "big.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[int]int64{}
	out := bufio.NewWriterSize(f, 1<<20)
	var written int64
	for i := 0; written < size; i++ {
		kind := i % 1009 * (i % 7) % 100_003
		want[kind]++
		n, _ := fmt.Fprintf(out, "2026-11-29 ERROR service answered with a failure of kind %d to a call\n", kind)
		written += int64(n)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, err := Count(t.Context(), f, written, Query{K: 3})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("counting %d MiB took %d MiB of memory in all", written>>20, took>>20)
	}
	if !got.Exact || got.Distinct != len(want) {
		t.Errorf("exact %t, %d different lines, want %d", got.Exact, got.Distinct, len(want))
	}
	for _, l := range got.Lines {
		var kind int
		if _, err := fmt.Sscanf(l.Text, "2026-11-29 ERROR service answered with a failure of kind %d", &kind); err != nil || want[kind] != l.Count {
			t.Errorf("%q %d times, want %d; %v", l.Text, l.Count, want[kind], err)
		}
	}
}

func FuzzCount(f *testing.F) {
	f.Add("a\nb\na\n", 2)
	f.Add("\xef\xbb\xbf \x00\r\n", 1)
	f.Fuzz(func(t *testing.T, text string, k int) {
		if k < 1 || k > 100 {
			return
		}
		got, err := Count(t.Context(), strings.NewReader(text), int64(len(text)), Query{K: k})
		if err != nil {
			t.Fatal(err)
		}
		naive := map[string]int64{}
		for i, line := range strings.Split(text, "\n") {
			if i == 0 {
				line = strings.TrimPrefix(line, "\xef\xbb\xbf")
			}
			if line = strings.TrimSpace(line); line != "" && len(text) < MaxLineBytes {
				naive[line]++
			}
		}
		if len(text) < MaxLineBytes && (len(got.Lines) != min(k, len(naive)) || got.Distinct != len(naive)) {
			t.Fatalf("%d lines of %d, want of %d", len(got.Lines), got.Distinct, len(naive))
		}
	})
}
