package arguments

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broken is one text of the corpus. Expect is null where it must be refused;
// Also are readings that are as good as a refusal.
type broken struct {
	Name   string `json:"name"`
	Input  string `json:"input"`
	Expect any    `json:"expect"`
	Policy string `json:"policy"`
	Also   []any  `json:"also"`
}

func TestEveryRecordedTextIsReadRight(t *testing.T) {
	for _, b := range corpus(t) {
		t.Run(b.Name, func(t *testing.T) {
			got, err := Read(b.Input)
			var value any
			if err == nil {
				value = decode(t, got.JSON)
			}
			switch {
			case b.Expect == nil && err == nil:
				for _, also := range b.Also {
					if reflect.DeepEqual(value, also) && len(got.Repairs) > 0 {
						return
					}
				}
				t.Errorf("read as %s (%v), should be refused", got.JSON, got.Repairs)
			case b.Expect != nil && err != nil:
				t.Errorf("refused: %v", err)
			case b.Expect != nil && !reflect.DeepEqual(value, b.Expect):
				t.Errorf("read as %s, want %v", got.JSON, b.Expect)
			case strings.HasPrefix(b.Policy, "repair") && len(got.Repairs) == 0:
				t.Error("no repair is named")
			}
			if _, err := Exact(b.Input); strings.HasPrefix(b.Policy, "repair") && err == nil {
				t.Error("taken as it is")
			}
		})
	}
}

func decode(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// corpus returns the recorded texts; without them the test is skipped.
func corpus(t testing.TB) (out []broken) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var f *os.File
	for ; f == nil; dir = filepath.Dir(dir) {
		f, _ = os.Open(filepath.Join(dir, "..", "shared", "data", "agent", "broken-args.jsonl"))
		if f == nil && dir == filepath.Dir(dir) {
			t.Skip("the corpus ../shared/data/agent is not here")
		}
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var b broken
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		if err := d.Decode(&b); err != nil {
			t.Fatalf("line %d: %v", len(out)+1, err)
		}
		out = append(out, b)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
