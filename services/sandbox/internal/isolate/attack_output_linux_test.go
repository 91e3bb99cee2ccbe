package isolate

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// endlessReader never ends.
type endlessReader struct{}

func (endlessReader) Read(b []byte) (int, error) { return len(b), nil }

var outputAttacks = []attack{
	{group: "output", name: "yes", limits: Limits{OutputBytes: 1 << 20}, want: []string{StatusOutputLimit},
		argv: []string{"yes"}, check: func(t *testing.T, a attacked) {
			if len(a.stdout)+len(a.stderr) != 1<<20 {
				t.Errorf("%d bytes came through", len(a.stdout)+len(a.stderr))
			}
		}},
	{group: "output", name: "errors alone without end", limits: Limits{OutputBytes: 1 << 20}, want: []string{StatusOutputLimit},
		bash: `yes >&2`, check: func(t *testing.T, a attacked) {
			if len(a.stdout) != 0 || len(a.stderr) != 1<<20 {
				t.Errorf("%d and %d bytes came through", len(a.stdout), len(a.stderr))
			}
		}},
	{group: "output", name: "more than a pipe holds", python: `
sys.stdout.write("x" * 65537)
`, check: func(t *testing.T, a attacked) {
		if a.stdout != strings.Repeat("x", 65537) {
			t.Errorf("%d bytes came through", len(a.stdout))
		}
	}},
	{group: "output", name: "both streams at once", python: `
def write(f): f.write("x" * (1 << 20)); f.flush()
all = [threading.Thread(target=write, args=(f,)) for f in (sys.stdout, sys.stderr)]
for t in all: t.start()
for t in all: t.join()
`, check: func(t *testing.T, a attacked) {
		if len(a.stdout) != 1<<20 || len(a.stderr) != 1<<20 {
			t.Errorf("%d and %d bytes came through", len(a.stdout), len(a.stderr))
		}
	}},
	{group: "output", name: "bytes that are no text", python: `
b = bytes(range(256)) + b"\xed\xa0\x80\xff\x00\xf0\x9f\x98" + b"\x1b]52;c;eA==\x07\x1b[2J"
for i in range(len(b)): os.write(1, b[i:i + 1])
`, check: func(t *testing.T, a attacked) {
		var want bytes.Buffer
		for i := range 256 {
			want.WriteByte(byte(i))
		}
		want.WriteString("\xed\xa0\x80\xff\x00\xf0\x9f\x98\x1b]52;c;eA==\x07\x1b[2J")
		if a.stdout != want.String() {
			t.Errorf("%q came through", a.stdout)
		}
	}},
	{group: "output", name: "one line of a hundred megabytes", limits: Limits{OutputBytes: 4 << 20}, want: []string{StatusOutputLimit},
		python: `
for _ in range(1600): os.write(1, b"x" * 65536)
`, check: func(t *testing.T, a attacked) {
			if len(a.stdout) != 4<<20 {
				t.Errorf("%d bytes came through", len(a.stdout))
			}
		}},
	{group: "output", name: "exactly the limit", limits: Limits{OutputBytes: 100_000}, python: `
sys.stdout.write("x" * 100000)
`, check: func(t *testing.T, a attacked) {
		if len(a.stdout) != 100_000 {
			t.Errorf("%d bytes came through", len(a.stdout))
		}
	}},
	{group: "output", name: "one byte over the limit", limits: Limits{OutputBytes: 99_999}, want: []string{StatusOutputLimit}, python: `
sys.stdout.write("x" * 100000)
`, check: func(t *testing.T, a attacked) {
		if len(a.stdout) != 99_999 {
			t.Errorf("%d bytes came through", len(a.stdout))
		}
	}},
	{group: "output", name: "an input that is not read", stdin: strings.NewReader(strings.Repeat("x", 10<<20)), bash: `echo done`, out: "done"},
	{group: "output", name: "an input without end", stdin: endlessReader{}, bash: `head -c 1000000 | wc -c`, out: "1000000"},
	{group: "output", name: "an input that is closed early", stdin: endlessReader{}, bash: `exec <&-; sleep 0.05; echo done`, out: "done"},
	{group: "output", name: "an input of many bytes", stdin: io.LimitReader(endlessReader{}, 5<<20), bash: `wc -c`, out: "5242880"},
	{group: "output", name: "an empty program", bash: "\n"},
	{group: "output", name: "a large program", bash: "exit 0\n" + strings.Repeat("# nothing to see here\n", 5<<20/22)},
	{group: "output", name: "streams closed", bash: `exec >&- 2>&-; sleep 0.05`},
}
