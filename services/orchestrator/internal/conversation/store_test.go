package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a store over a real database, with a clock that goes on a second at
// each look.
type world struct {
	*Store
	t *testing.T
}

func open(t *testing.T) *world {
	t.Helper()
	db := schematest.Open(t)
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	return &world{t: t, Store: &Store{DB: db, Now: func() time.Time { now = now.Add(time.Second); return now }}}
}

func (w *world) create(user, title string) schema.Conversation {
	w.t.Helper()
	c, err := w.Create(w.t.Context(), user, title, "glm-5", "be brief")
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) insert(rows ...any) {
	w.t.Helper()
	err := w.DB.Write(w.t.Context(), func(ctx context.Context, tx bun.IDB) error {
		for _, row := range rows {
			if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func message(conversation, id, parent string, length int) *schema.Message {
	return &schema.Message{ID: id, ConversationID: conversation, UserID: "ann", ParentID: parent, PathLength: length, Content: id}
}

func ids(list []schema.Message) string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID)
	}
	return strings.Join(out, " ")
}

func TestAConversationIsItsUsers(t *testing.T) {
	w := open(t)
	c := w.create("ann", "Tea")
	w.insert(message(c.ID, "m1", "", 1))
	got, err := w.Get(t.Context(), "ann", c.ID)
	if err != nil || got.Title != "Tea" || got.Model != "glm-5" || got.SystemPrompt != "be brief" || got.CreatedAt != got.UpdatedAt {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := w.Get(t.Context(), "bob", c.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	title := "Mine"
	if _, err := w.Update(t.Context(), "bob", c.ID, Changes{Title: &title}); !errors.Is(err, ErrNotFound) {
		t.Errorf("update: %v", err)
	}
	if err := w.Delete(t.Context(), "bob", c.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
	if _, err := w.Message(t.Context(), "bob", "m1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("message: %v", err)
	}
	if list, err := w.List(t.Context(), "bob", "", 10); err != nil || len(list) > 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	if again, err := w.Get(t.Context(), "ann", c.ID); err != nil || again.Title != "Tea" {
		t.Errorf("afterwards: %+v, %v", again, err)
	}
}

func TestOnlyWhatIsGivenIsChanged(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := []struct {
		name    string
		changes Changes
		want    string
	}{
		{"nothing", Changes{}, "Tea|glm-5|be brief"},
		{"the title", Changes{Title: text("Coffee")}, "Coffee|glm-5|be brief"},
		{"to nothing", Changes{Title: text(""), Model: text("")}, "||be brief"},
		{"everything", Changes{text("a"), text("b"), text("c")}, "a|b|c"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := open(t)
			before := w.create("ann", "Tea")
			got, err := w.Update(t.Context(), "ann", before.ID, c.changes)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := w.Get(t.Context(), "ann", before.ID)
			if err != nil || stored != got {
				t.Errorf("stored %+v, answered %+v (%v)", stored, got, err)
			}
			if s := got.Title + "|" + got.Model + "|" + got.SystemPrompt; s != c.want || got.UpdatedAt <= before.UpdatedAt || got.CreatedAt != before.CreatedAt {
				t.Errorf("%s, %+v", s, got)
			}
		})
	}
}

func TestConversationsAreListedNewestFirst(t *testing.T) {
	w := open(t)
	for i := range 5 {
		w.create("ann", fmt.Sprint(i))
		w.create("bob", "other")
	}
	var titles []string
	before := ""
	for {
		list, err := w.List(t.Context(), "ann", before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, c := range list {
			titles, before = append(titles, c.Title), c.ID
		}
	}
	if got := strings.Join(titles, ""); got != "43210" {
		t.Errorf("listed %s", got)
	}
}

func TestABranchIsReadFromItsRoot(t *testing.T) {
	w := open(t)
	c, other := w.create("ann", "a"), w.create("ann", "b")
	w.insert(
		message(c.ID, "q1", "", 1), message(c.ID, "a1", "q1", 2), message(c.ID, "a1b", "q1", 2),
		message(c.ID, "q2", "a1", 3), message(c.ID, "a2", "q2", 4), message(c.ID, "q2b", "a1b", 3),
		message(other.ID, "x1", "", 1), message(c.ID, "lost", "gone", 7), message(c.ID, "stray", "x1", 2),
	)
	for leaf, want := range map[string]string{
		"a2": "q1 a1 q2 a2", "q2b": "q1 a1b q2b", "q1": "q1", "": "", "none": "", "lost": "lost", "x1": "",
	} {
		got, err := w.Branch(t.Context(), c.ID, leaf)
		if err != nil || ids(got) != want {
			t.Errorf("branch of %q: %s, want %s (%v)", leaf, ids(got), want, err)
		}
	}
	lengths, err := w.Lengths(t.Context(), []string{"a2", "q2b", "none"})
	if err != nil || lengths["a2"] != 4 || lengths["q2b"] != 3 || len(lengths) != 2 {
		t.Errorf("lengths %v, %v", lengths, err)
	}
}

func TestALongBranchIsReadInOrder(t *testing.T) {
	w := open(t)
	c := w.create("ann", "long")
	const n = 3000
	var rows []any
	for i := range n {
		rows = append(rows, message(c.ID, fmt.Sprintf("m%05d", i), map[bool]string{true: "", false: fmt.Sprintf("m%05d", i-1)}[i == 0], i+1))
	}
	w.insert(rows...)
	got, err := w.Branch(t.Context(), c.ID, fmt.Sprintf("m%05d", n-1))
	if err != nil || len(got) != n || !slices.IsSortedFunc(got, func(a, b schema.Message) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%d messages, %v", len(got), err)
	}
}

func TestDeletingTakesEverythingBelow(t *testing.T) {
	w := open(t)
	gone, stays := w.create("ann", "gone"), w.create("ann", "stays")
	for _, c := range []schema.Conversation{gone, stays} {
		run := "run_" + c.ID
		w.insert(
			message(c.ID, "m_"+c.ID, "", 1),
			&schema.Run{ID: run, ConversationID: c.ID, UserID: "ann"},
			&schema.ModelCall{ID: "mc_" + c.ID, RunID: run}, &schema.Event{RunID: run, Seq: 1, Data: []byte{1}},
			&schema.ToolCall{ID: "tc_" + c.ID, RunID: run, ConversationID: c.ID, EffectKey: "k" + c.ID, ResultBlob: "results/ann/" + c.ID},
			&schema.ToolCall{ID: "td_" + c.ID, RunID: run, ConversationID: c.ID, EffectKey: "l" + c.ID},
			&schema.LedgerRow{CallID: "mc_" + c.ID, UserID: "ann"},
		)
	}
	keys, err := w.Blobs(t.Context(), gone.ID)
	if err != nil || !slices.Equal(keys, []string{"results/ann/" + gone.ID}) {
		t.Errorf("blobs %v, %v", keys, err)
	}
	if err := w.Delete(t.Context(), "ann", gone.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), "ann", gone.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	for table, want := range map[string]int{
		"conversations": 1, "messages": 1, "runs": 1, "model_calls": 1, "tool_calls": 2, "events": 1, "usage_ledger": 2,
	} {
		var n int
		if err := w.DB.Read().NewRaw("SELECT COUNT(*) FROM "+table).Scan(t.Context(), &n); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d (%v)", table, n, want, err)
		}
	}
}
