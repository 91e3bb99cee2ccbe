package board

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/host"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const now = int64(1_800_000_000_000)

// show puts a task on the board with n addresses at each host, which robots.txt
// allows.
func show(b *Board, user, id string, started bool, n int, hosts ...string) schema.Task {
	t := schema.Task{ID: id, UserID: user, Status: schema.StatusPending, Parallel: 3, Rev: 1}
	if started {
		t.Status, t.StartedAt = schema.StatusRunning, now
	}
	b.Put(t, addresses(id, n, now+1_000_000, hosts...), 0)
	return t
}

func addresses(id string, n int, robots int64, hosts ...string) (open []schema.Address) {
	for _, h := range hosts {
		for i := range n {
			key := fmt.Sprintf("%s%s%d", id, h, i)
			open = append(open, schema.Address{TaskID: id, URLKey: []byte(key), Origin: "https://" + h, Host: h, URL: "https://" + h + "/" + key, RobotsUntil: robots})
		}
	}
	return open
}

// pick chooses and says what was chosen.
func pick(t *testing.T, b *Board) Candidate {
	t.Helper()
	c, _, ok := b.Pick(now)
	if !ok {
		t.Fatal("nothing to pick")
	}
	return c
}

// leased shows that a candidate was leased.
func leased(b *Board, c Candidate, row schema.Task, parallel int) frontier.Leased {
	row.Status, row.StartedAt, row.Rev = schema.StatusRunning, now, 2
	l := frontier.Leased{
		Task: row, Saved: true,
		Lease: schema.Lease{ID: "lease_" + c.Host, TaskID: c.TaskID, Host: c.Host, Origin: c.Origin, Parallel: parallel, LeaseUntil: now + 15_000},
		Host:  schema.Host{Host: c.Host, LeaseID: "lease_" + c.Host, LeaseUntil: now + 15_000},
	}
	b.Leased(c, l)
	return l
}

func nothing(t *testing.T, b *Board, wantNext int64) {
	t.Helper()
	c, next, ok := b.Pick(now)
	if ok || next != wantNext {
		t.Errorf("picked %+v (%v), next %d; want %d", c, ok, next-now, wantNext-now)
	}
}

func TestUsersThenTasksThenHostsTakeTurns(t *testing.T) {
	b := New(4, false)
	for i := range 4 {
		show(b, "ann", fmt.Sprintf("a%d", i), true, 5, fmt.Sprintf("a%d.example", i), fmt.Sprintf("aa%d.example", i))
	}
	show(b, "bob", "b0", true, 5, "b0.example", "b1.example")
	got := map[string]int{}
	var order []string
	for range 4 {
		c := pick(t, b)
		got[c.TaskID[:1]]++
		order = append(order, c.TaskID+" "+c.Host)
	}
	if got["a"] != 2 || got["b"] != 2 || order[0][:2] == order[2][:2] && order[0] == order[2] {
		t.Errorf("%v", order)
	}
	for range 6 {
		order = append(order, pick(t, b).TaskID)
	}
	nothing(t, b, 0)
}

func TestANewUserComesFirst(t *testing.T) {
	b := New(4, false)
	for i := range 4 {
		show(b, "ann", fmt.Sprintf("a%d", i), true, 5, fmt.Sprintf("a%d.example", i))
	}
	pick(t, b)
	show(b, "bob", "b0", false, 1, "b.example")
	if c := pick(t, b); c.TaskID != "b0" {
		t.Errorf("%+v", c)
	}
}

func TestOnlyTheOldestTasksOfAUserHaveTheirTurn(t *testing.T) {
	b := New(2, false)
	show(b, "ann", "a3", false, 1, "h3.example")
	show(b, "ann", "a2", false, 1, "h2.example")
	show(b, "ann", "a1", false, 1, "h1.example")
	got := map[string]bool{pick(t, b).TaskID: true, pick(t, b).TaskID: true}
	if !got["a1"] || !got["a2"] {
		t.Errorf("%v", got)
	}
	nothing(t, b, 0)
	b.Removed("a1")
	if c := pick(t, b); c.TaskID != "a3" {
		t.Errorf("%+v", c)
	}
}

func TestAHostIsReservedAndThenLeased(t *testing.T) {
	b := New(4, false)
	row := show(b, "ann", "a1", true, 5, "h.example")
	show(b, "bob", "b1", true, 5, "h.example")
	c := pick(t, b)
	nothing(t, b, 0)
	b.NotNow(c, now)
	if other := pick(t, b); other.TaskID == c.TaskID { // it is held for a moment
		t.Errorf("%+v", other)
	} else {
		b.NotNow(other, now)
	}
	nothing(t, b, now+holdMS)
	c2, _, ok := b.Pick(now + holdMS)
	if !ok {
		t.Fatal("nothing after the hold")
	}
	leased(b, c2, row, 2)
	if _, next, ok := b.Pick(now + holdMS); ok || next != now+15_000 {
		t.Errorf("a leased host is picked (%v), next %d", ok, next-now)
	}
	b.Freed(schema.Host{Host: "h.example", Pace: host.Pace{NextAt: now + 500}})
	if _, next, ok := b.Pick(now + holdMS); ok || next != now+500 {
		t.Errorf("a host that rests is picked (%v), next %d", ok, next-now)
	}
	if _, _, ok := b.Pick(now + 500); !ok {
		t.Error("a host that has rested is not picked")
	}
}

func TestATaskThatIsBusyWaits(t *testing.T) {
	b := New(4, false)
	row := show(b, "ann", "a1", true, 5, "h1.example", "h2.example")
	l := leased(b, pick(t, b), row, 3)
	nothing(t, b, now+15_000)
	b.Committed(frontier.Committed{
		Changed: true, Task: l.Task, Lease: l.Lease, Host: schema.Host{Host: l.Lease.Host, Pace: host.Pace{NextAt: now + 100}},
	})
	if c := pick(t, b); c.Host == l.Lease.Host {
		t.Errorf("%+v", c)
	}
}

func TestWhatIsClosedOrPutOffIsNotPicked(t *testing.T) {
	b := New(4, false)
	row := show(b, "ann", "a1", true, 2, "h.example")
	l := leased(b, pick(t, b), row, 1)
	free := schema.Host{Host: "h.example"}
	c := frontier.Committed{Changed: true, Task: l.Task, Lease: l.Lease, Host: free, Closed: [][]byte{[]byte("a1h.example0")}, Again: map[string]int64{"a1h.example1": now + 4000}}
	c.Task.Rev++
	b.Committed(c)
	nothing(t, b, now+4000)
	c.Again, c.Closed = nil, [][]byte{[]byte("a1h.example1")}
	b.Committed(c)
	nothing(t, b, 0)
	c.Task.Status = schema.StatusCompleted
	b.Committed(c)
	if len(b.tasks) != 0 || len(b.users) != 0 || len(b.hosts) != 0 {
		t.Errorf("%d tasks, %d users, %d hosts are left", len(b.tasks), len(b.users), len(b.hosts))
	}
}

func TestWhatRobotsIsNotKnownOfIsAskedAboutOnce(t *testing.T) {
	b := New(4, false)
	b.Put(schema.Task{ID: "a1", UserID: "ann", Status: schema.StatusPending, Parallel: 3}, addresses("a1", 3, 0, "h.example", "g.example"), 0)
	nothing(t, b, 0)
	asks, _ := b.Unchecked(now, 1)
	if len(asks) != 1 || len(asks[0].Addresses) != 3 {
		t.Fatalf("%+v", asks)
	}
	others, _ := b.Unchecked(now, 16)
	if len(others) != 1 || others[0].Origin == asks[0].Origin {
		t.Fatalf("%+v", others)
	}
	if again, _ := b.Unchecked(now, 16); len(again) != 0 {
		t.Errorf("asked twice: %+v", again)
	}
	b.Asked(others[0], now+2000, false)
	if again, next := b.Unchecked(now, 16); len(again) != 0 || next != now+2000 {
		t.Errorf("asked again too soon: %+v, next %d", again, next-now)
	}
	keys := [][]byte{asks[0].Addresses[0].URLKey, asks[0].Addresses[1].URLKey}
	b.Checked("a1", asks[0].Origin, frontier.Checked{
		Task: schema.Task{ID: "a1", Status: schema.StatusPending, Parallel: 3, Rev: 1}, Host: schema.Host{Host: asks[0].Addresses[0].Host},
		Allowed: keys, Until: now + 5000, Closed: [][]byte{asks[0].Addresses[2].URLKey},
	})
	b.Asked(asks[0], 0, false)
	if c := pick(t, b); c.Origin != asks[0].Origin {
		t.Errorf("%+v", c)
	}
	if later, _ := b.Unchecked(now+5000, 16); len(later) != 2 {
		t.Errorf("a verdict that ended is not asked for: %+v", later)
	}
}

func TestThePictureOfTheDatabaseWinsUnlessItIsOlder(t *testing.T) {
	b := New(4, true)
	row := show(b, "ann", "a1", true, 2, "h.example")
	gone := show(b, "ann", "a2", true, 2, "g.example")
	stamp := b.Stamp()
	made := show(b, "bob", "b1", true, 1, "b.example") // after the stamp
	newer := row
	newer.Rev = 5
	if b.Knows(&newer) || !b.Knows(&gone) {
		t.Error("what is known is told wrongly")
	}
	b.Show(frontier.Picture{Tasks: []schema.Task{newer}, Open: map[string][]schema.Address{"a1": addresses("a1", 1, now+1000, "x.example")}}, stamp, 0)
	if b.tasks["a2"] != nil || b.tasks[made.ID] == nil || len(b.tasks["a1"].queues) != 1 || b.tasks["a1"].queues[0].host != "x.example" {
		t.Errorf("%v", b.tasks)
	}
	older := newer
	older.Rev = 4
	b.Show(frontier.Picture{Tasks: []schema.Task{older}, Open: map[string][]schema.Address{"a1": nil}}, b.Stamp(), 0)
	if len(b.tasks["a1"].queues) != 1 {
		t.Error("an older picture was taken")
	}
	stamp = b.Stamp()
	b.ShowHosts([]schema.Host{{Host: "x.example", LeaseID: "l1", LeaseUntil: now + 9000}}, []schema.Lease{{ID: "l1", Host: "x.example", TaskID: "a1", Parallel: 2}}, stamp)
	if h := b.hosts["x.example"]; h.leaseTask != "a1" || h.parallel != 2 {
		t.Errorf("%+v", h)
	}
	b.Freed(schema.Host{Host: "x.example"})
	b.ShowHosts([]schema.Host{{Host: "x.example", LeaseID: "l1", LeaseUntil: now + 9000}}, nil, stamp)
	if h := b.hosts["x.example"]; h.leaseID != "" {
		t.Errorf("what is older than our own change was taken: %+v", h)
	}
}
