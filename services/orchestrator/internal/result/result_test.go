package result

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

func keeper(t *testing.T) *Keeper {
	t.Helper()
	bucket, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	return &Keeper{Bucket: bucket}
}

func TestHowMuchOfAResultTheModelGets(t *testing.T) {
	cases := []struct {
		name          string
		kind          string
		window, calls int
		want          int
	}{
		{"a log", "log", 128_000, 1, 2_000},
		{"a document", "document", 128_000, 1, 5_000},
		{"web text", "web", 128_000, 1, 10_000},
		{"anything else", "", 128_000, 1, 24_000},
		{"data", "data", 128_000, 1, 24_000},
		{"a kind that nobody knows", "poem", 128_000, 1, 24_000},
		{"web text of four calls", "web", 128_000, 4, 8_000},
		{"web text of sixteen calls", "web", 128_000, 16, 2_000},
		{"web text in a small window", "web", 8_000, 1, 2_000},
		{"many calls in a small window", "web", 8_000, 16, 500},
		{"an unknown window", "web", 0, 16, 10_000},
		{"no calls", "web", 8_000, 0, 10_000},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Limit(c.kind, c.window, c.calls); got != c.want {
				t.Errorf("%d characters, want %d", got, c.want)
			}
		})
	}
}

var footer = regexp.MustCompile(`\n\n\[Cut: characters (\d+) to (\d+) of (\d+)\. Read on with read_result\(result_id="([^"]+)", offset=(\d+)\)\.\]$`)

// readAll follows the offsets of pages to the end.
func readAll(t *testing.T, source string, limit int) string {
	t.Helper()
	var whole strings.Builder
	for offset, pages := 0, 0; ; pages++ {
		text, cut := Page(source, offset, limit, "call_1")
		if !cut {
			whole.WriteString(text)
			return whole.String()
		}
		m := footer.FindStringSubmatchIndex(text)
		if m == nil || pages > len(source) {
			t.Fatalf("page %d leads nowhere: %q", pages, text)
		}
		part := text[:m[0]]
		if n := utf8.RuneCountInString(part); n != limit {
			t.Fatalf("page %d has %d characters, want %d", pages, n, limit)
		}
		whole.WriteString(part)
		from, _ := strconv.Atoi(text[m[2]:m[3]])
		next, _ := strconv.Atoi(text[m[10]:m[11]])
		total, _ := strconv.Atoi(text[m[6]:m[7]])
		if from != offset || next != offset+limit || total != utf8.RuneCountInString(source) {
			t.Fatalf("page from %d says %q", offset, text[m[0]:])
		}
		offset = next
	}
}

func TestPagesMakeTheWholeText(t *testing.T) {
	cases := []struct{ name, source string }{
		{"nothing", ""},
		{"letters", strings.Repeat("abcdefg", 30)},
		{"Chinese", strings.Repeat("纳米爪是最小的爪。", 20)},
		{"combining marks", strings.Repeat("é́ñ", 40)},
		{"emoji", strings.Repeat("👩‍👩‍👧🏽", 25)},
		{"a text that looks like a footer", strings.Repeat("\n\n[Cut: characters 0 to 1 of 2.]", 9)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, limit := range []int{1, 7, 100, 10_000} {
				if got := readAll(t, c.source, limit); got != c.source {
					t.Errorf("pages of %d make %q", limit, got)
				}
			}
		})
	}
}

func FuzzPages(f *testing.F) {
	f.Add("纳米\xff爪 é", 3)
	f.Add("", 1)
	f.Fuzz(func(t *testing.T, source string, limit int) {
		if limit < 1 || limit > 1000 || len(source) > 2000 {
			return
		}
		if got := readAll(t, source, limit); got != source {
			t.Errorf("%q came back as %q", source, got)
		}
	})
}

func TestWhatTheModelReads(t *testing.T) {
	cases := []struct{ name, content, want string }{
		{"markdown where there is some", `{"success":true,"markdown":"# Tea"}`, "# Tea"},
		{"the JSON otherwise", `{"success":true}`, `{"success":true}`},
		{"empty markdown is none", `{"n":1,"markdown":" \n"}`, `{"n":1,"markdown":" \n"}`},
		{"markdown that is no text is none", `{"markdown":{"a":1}}`, `{"markdown":{"a":1}}`},
		{"null is none", `{"markdown":null}`, `{"markdown":null}`},
		{"another member with other letters", `{"Markdown":"no"}`, `{"Markdown":"no"}`},
		{"a list", `[1]`, `[1]`},
		{"not JSON", `<html>`, `<html>`},
		{"U+0000 and half a surrogate pair in markdown", `{"markdown":"a\u0000b\ud800c"}`, "a\uFFFDb\uFFFDc"},
		{"U+0000 in the JSON stays escaped", `{"a\u0000":"b\u0000"}`, `{"a\u0000":"b\u0000"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := ModelSource(c.content); got != c.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestKeeping(t *testing.T) {
	long, err := json.Marshal(map[string]any{"success": true, "markdown": strings.Repeat("茶é ", 20_000)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(strings.Split(strings.Repeat("<tea>,", 10_000), ","))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, content string
		limit         int
		truncated     bool
		spilled       bool
	}{
		{"a short result", `{"success":true}`, 1000, false, false},
		{"a result that the model gets cut", `{"text":"` + strings.Repeat("x", 2000) + `"}`, 1000, true, false},
		{"an empty result", ``, 1000, false, false},
		{"a result that goes to the blob store", string(long), 1000, true, true},
		{"a list that goes to the blob store", string(list), 24_000, true, true},
		{"a long text that is not JSON", strings.Repeat("<p>", 20_000), 1000, true, true},
		{"one byte more than stands in the database", `"` + strings.Repeat("x", maxInlineBytes-1) + `"`, 40_000, true, true},
		{"exactly what stands in the database", `"` + strings.Repeat("x", maxInlineBytes-2) + `"`, 40_000, false, false},
	}
	k := keeper(t)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			call := schema.ToolCall{ID: fmt.Sprintf("call_%d", i), UserID: "usr_1", ResultBlob: "of/an/earlier/attempt"}
			if err := k.Keep(t.Context(), &call, c.content, c.limit); err != nil {
				t.Fatal(err)
			}
			if call.Truncated != c.truncated || (call.ResultBlob != "") != c.spilled {
				t.Errorf("truncated %t, blob %q", call.Truncated, call.ResultBlob)
			}
			source := ModelSource(c.content)
			if call.ResultChars != utf8.RuneCountInString(source) {
				t.Errorf("%d characters", call.ResultChars)
			}
			if got, _, _ := strings.Cut(call.ModelText, "\n\n[Cut: "); !strings.HasPrefix(source, got) || utf8.RuneCountInString(got) != min(c.limit, call.ResultChars) {
				t.Errorf("the model reads %.200q", call.ModelText)
			}
			whole, err := k.Whole(t.Context(), call)
			if err != nil || whole != c.content {
				t.Errorf("whole is %.100q (%v)", whole, err)
			}
			if !c.spilled {
				return
			}
			var preview struct {
				Truncated  bool
				ResultID   string `json:"result_id"`
				TotalChars int    `json:"total_chars"`
				Preview    string
			}
			if err := json.Unmarshal([]byte(call.Result), &preview); err != nil {
				t.Fatal(err)
			}
			if !preview.Truncated || preview.ResultID != call.ID || preview.TotalChars != call.ResultChars || !strings.HasPrefix(source, preview.Preview) || preview.Preview == "" {
				t.Errorf("preview %+v", preview)
			}
			if len(call.Result) > maxInlineBytes {
				t.Errorf("a preview of %d bytes", len(call.Result))
			}
		})
	}
}

func TestAResultThatIsGone(t *testing.T) {
	k := keeper(t)
	call := schema.ToolCall{ID: "call_1", UserID: "usr_1"}
	if err := k.Keep(t.Context(), &call, strings.Repeat("x", 50_000), 10); err != nil {
		t.Fatal(err)
	}
	if err := k.Delete(t.Context(), []string{call.ResultBlob, "results/usr_1/never"}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Whole(t.Context(), call); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

// broken is a bucket whose disk is full.
type broken struct{ blob.Bucket }

var errFull = errors.New("disk is full")

func (broken) Put(context.Context, string, []byte, string) error { return errFull }

func (broken) Delete(context.Context, string) error { return errFull }

func (broken) Get(context.Context, string) ([]byte, error) { return nil, errFull }

func TestAStoreThatFailsIsNamed(t *testing.T) {
	k := &Keeper{Bucket: broken{}}
	call := schema.ToolCall{ID: "call_1", UserID: "usr_1"}
	if err := k.Keep(t.Context(), &call, strings.Repeat("x", 50_000), 10); !errors.Is(err, errFull) || !strings.Contains(err.Error(), "call_1") {
		t.Errorf("keep: %v", err)
	}
	call.ResultBlob = "results/usr_1/call_1"
	if _, err := k.Whole(t.Context(), call); !errors.Is(err, errFull) || errors.Is(err, ErrGone) {
		t.Errorf("whole: %v", err)
	}
	if err := k.Delete(t.Context(), []string{"a/b", "a/c"}); !errors.Is(err, errFull) {
		t.Errorf("delete: %v", err)
	}
}

func TestMembersAreAdded(t *testing.T) {
	cases := []struct{ name, content, want string }{
		{"to an object", `{"n":12345678901234567890}`, `{"n":12345678901234567890,"notes":["a"]}`},
		{"to what the model reads", `{"markdown":"Tea."}`, `{"markdown":"Tea.\n\n(notes: [\"a\"])","notes":["a"]}`},
		{"empty markdown stays none", `{"markdown":""}`, `{"markdown":"","notes":["a"]}`},
		{"not to a list", `[1]`, `[1]`},
		{"not to null", `null`, `null`},
		{"not to what is not JSON", `<p>`, `<p>`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := WithMember(c.content, "notes", []string{"a"}); got != c.want {
				t.Errorf("%s", got)
			}
		})
	}
	if got := WithMember(`{}`, "bad", func() {}); got != `{}` {
		t.Errorf("a value that cannot be written made %s", got)
	}
}

func TestFailuresAreWordsForTheModel(t *testing.T) {
	if got := Failure("NO_TEA", `say "please"`, true); got != `{"error":{"message":"say \"please\"","reason":"NO_TEA","retryable":true},"success":false}` {
		t.Error(got)
	}
}

func FuzzKeep(f *testing.F) {
	f.Add(`{"markdown":"茶"}`, 3)
	f.Add("\x00\xff", 1)
	bucket, err := blob.Open(context.Background(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	defer bucket.Close()
	k := &Keeper{Bucket: bucket}
	f.Fuzz(func(t *testing.T, content string, limit int) {
		call := schema.ToolCall{ID: "call_1", UserID: "usr_1"}
		if err := k.Keep(t.Context(), &call, content, limit); err != nil {
			t.Fatal(err)
		}
		if whole, err := k.Whole(t.Context(), call); err != nil || whole != content {
			t.Errorf("%q came back as %q (%v)", content, whole, err)
		}
	})
}
