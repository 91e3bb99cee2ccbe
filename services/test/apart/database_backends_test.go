//go:build backends

package apart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/orchestrator/v1"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/sampletest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// outage is how long the database is away.
const outage = 10 * time.Second

// overALine is a deployment whose orchestrator reaches its database over a line.
func overALine(t *testing.T) (*deployment, *world.Hands, *line) {
	t.Helper()
	w := world.New(t, counting)
	hands := w.StartHands(t)
	dsn := storetest.MySQL(t).DSN
	l := layLine(t, storetest.Server(t).Addr)
	w.Config.Storage = suite.StorageConfig{Driver: store.DriverMySQL, DSN: l.through(dsn)}
	w.Config.Runs.PerUser, w.Config.Runs.Queued = crowd, crowd
	d := deploy(t, w)
	d.startAll()
	c := d.client()
	until(t, "all tools are known", func() bool {
		return strings.Contains(tools(t, c), "web_search") && strings.Contains(tools(t, c), "fetch_page")
	})
	return d, hands, l
}

// crowdOf starts runs, each with a reader, and returns when they have begun.
// wait returns when every reader has the end.
func crowdOf(ctx context.Context, t *testing.T, b *backend) (runs []*asked, readers []reader, wait func()) {
	runs, readers = make([]*asked, crowd), make([]reader, crowd)
	var asking, reading sync.WaitGroup
	for i := range runs {
		asking.Go(func() {
			runs[i] = b.ask(ctx, t, fmt.Sprint("run ", i))
			reading.Go(func() { readers[i].watch(ctx, runs[i], b) })
		})
	}
	asking.Wait()
	return runs, readers, reading.Wait
}

// checkAway checks that everything that needs the database says so and when to
// try again.
func checkAway(t *testing.T, d *deployment, c *world.Client, reason string, requests ...[2]string) {
	t.Helper()
	for _, r := range requests {
		var body any
		if r[0] == "POST" {
			body = map[string]any{}
		}
		begun := time.Now()
		res, err := c.Do(t.Context(), r[0], r[1], body)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		again, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != http.StatusServiceUnavailable || err != nil || again < 1 {
			t.Errorf("%s %s: %d, Retry-After %q", r[0], r[1], res.StatusCode, res.Header.Get("Retry-After"))
		}
		t.Logf("%s %s: %d after %s, try again in %d s", r[0], r[1], res.StatusCode, time.Since(begun).Round(time.Millisecond), again)
	}
	_, err := d.backend("orchestrator").conversations.CreateConversation(t.Context(), &pb.CreateConversationRequest{})
	delay, hinted := rpcerr.RetryDelay(err)
	if status.Code(err) != codes.Unavailable || rpcerr.Reason(err) != reason || !hinted || delay <= 0 {
		t.Errorf("over gRPC: %v (reason %q), retry in %s %v", err, rpcerr.Reason(err), delay, hinted)
	}
}

func TestRunsWaitForADatabaseThatIsAwayAndGoOn(t *testing.T) {
	d, hands, l := overALine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, b := d.client(), d.backend("orchestrator")
	runs, readers, wait := crowdOf(ctx, t, b)
	until(t, "some have had their first effect", func() bool {
		n := 0
		for _, a := range runs {
			n += hands.Count(a.name + "/first")
		}
		return n >= crowd/4
	})
	l.cut()
	cut := time.Now()
	checkAway(t, d, c, "STORAGE_UNAVAILABLE", [2]string{"POST", "/api/conversations"}, [2]string{"GET", "/api/conversations"}, [2]string{"GET", "/api/runs/" + runs[0].run})
	time.Sleep(time.Until(cut.Add(outage)))
	for i := range readers {
		if readers[i].Ended() {
			t.Errorf("%s ended while nothing could be stored", runs[i].name)
		}
	}
	l.mend()
	mended := time.Now()
	wait()
	if ctx.Err() != nil {
		t.Fatalf("not all runs ended:\n%s", d.procs["orchestrator"].Stderr())
	}
	t.Logf("all %d runs ended %s after the database was back", crowd, time.Since(mended).Round(100*time.Millisecond))
	restarted := 0
	for i, a := range runs {
		log := checkEnded(t, c, hands, a, &readers[i])
		restarted += len(log.Restarts)
	}
	if restarted > 0 {
		t.Errorf("%d rounds were begun anew, although nobody lost a lease", restarted)
	}
	checkStory(t, c, c.Ask(t, c.Conversation(t), "Please look up nanoclaws"))
	d.stop()
}

func TestACommitWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	d, hands, l := overALine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var commits atomic.Int32
	runs, readers, wait := crowdOf(ctx, t, d.backend("orchestrator"))
	const each = 5
	l.set(faults{lose: func(packet []byte) bool { return statement(packet) == "COMMIT" && commits.Add(1)%each == 0 }})
	wait()
	l.set(faults{})
	if ctx.Err() != nil {
		t.Fatalf("not all runs ended:\n%s", d.procs["orchestrator"].Stderr())
	}
	c := d.client()
	for i, a := range runs {
		checkEnded(t, c, hands, a, &readers[i])
	}
	t.Logf("of %d commits each fifth lost its answer", commits.Load())
	d.stop()
}

func TestRunsWaitForADatabaseThatIsFull(t *testing.T) {
	d, hands, l := overALine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, b := d.client(), d.backend("orchestrator")
	a := b.ask(ctx, t, "a run on a full disk")
	var r reader
	var reading sync.WaitGroup
	reading.Go(func() { r.watch(ctx, a, b) })
	until(t, "it has had its first effect", func() bool { return hands.Count(a.name+"/first") == 1 })
	l.set(faults{refuse: tableFull})
	checkAway(t, d, c, "STORAGE_FULL", [2]string{"POST", "/api/conversations"})
	if got, answer := c.JSON(t, "GET", "/api/runs/"+a.run, nil); got != http.StatusOK {
		t.Errorf("reading while nothing can be stored: %d %v", got, answer)
	}
	time.Sleep(5 * time.Second)
	l.set(faults{})
	reading.Wait()
	checkEnded(t, c, hands, a, &r)
	if log := d.procs["orchestrator"].Stderr(); !strings.Contains(log, "disk is full") {
		t.Errorf("the log does not say that the disk is full: %s", log)
	}
	d.stop()
}

func TestADatabaseThatIsSlowIsWaitedFor(t *testing.T) {
	d, hands, l := overALine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, b := d.client(), d.backend("orchestrator")
	a := b.ask(ctx, t, "a run on a slow database")
	var r reader
	var reading sync.WaitGroup
	reading.Go(func() { r.watch(ctx, a, b) })
	pause := 300 * time.Millisecond
	if sampletest.Full() {
		pause = 2 * time.Second
	}
	l.set(faults{delay: pause})
	begun := time.Now()
	untilAfter(t, 8*time.Minute, "it has had its second effect", func() bool { return hands.Count(a.name+"/second") == 1 })
	// Whoever reads gets an answer, or is told that it takes too long.
	if got, answer := c.JSON(t, "GET", "/api/runs/"+a.run, nil); got != http.StatusOK && got != http.StatusServiceUnavailable && got != http.StatusGatewayTimeout {
		t.Errorf("reading: %d %v", got, answer)
	}
	l.set(faults{})
	reading.Wait()
	checkEnded(t, c, hands, a, &r)
	t.Logf("the run took %s with %s before each statement", time.Since(begun).Round(100*time.Millisecond), pause)
	d.stop()
}

func TestAStartOnADatabaseThatCannotBe(t *testing.T) {
	server := storetest.Server(t)
	newer := storetest.MySQL(t)
	for _, tc := range []struct {
		name string
		dsn  func(t *testing.T) config.Secret
		want []string
	}{
		{"down", func(t *testing.T) config.Secret {
			return config.Secret("root:hunter2@tcp(" + addrtest.Reserve(t) + ")/")
		},
			[]string{"the database is not available", "connection refused"}},
		{"a user who is refused", func(*testing.T) config.Secret { return config.Secret("nobody:hunter2@tcp(" + server.Addr + ")/") },
			[]string{"access to the database is denied", "user nobody"}},
		{"a user without rights", userWithoutRights, []string{"access to the database is denied", "has no right to database", "GRANT ALL"}},
		{"a user who may only read", userWhoReads, []string{"denied"}},
		{"a schema of a newer release", func(t *testing.T) config.Secret { return ofTheFuture(t, newer.DSN) },
			[]string{"written by a newer nanoclaw", "run that release"}},
		{"a dsn that is none", func(*testing.T) config.Secret { return "mysql://root:hunter2@host/db" }, []string{"user:password@tcp(host:port)/database"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := world.New(t, counting)
			w.Config.Storage = suite.StorageConfig{Driver: store.DriverMySQL, DSN: tc.dsn(t)}
			d := deploy(t, w)
			_, err := d.launch("orchestrator")
			ended, ok := errors.AsType[*world.ExitError](err)
			if !ok || ended.Code != 1 {
				t.Fatalf("it did not end with exit code 1: %v", err)
			}
			for _, want := range tc.want {
				if !strings.Contains(ended.Output, want) {
					t.Errorf("it says %q, want %q in it", ended.Output, want)
				}
			}
			if strings.Contains(ended.Output, "hunter2") || strings.Contains(ended.Output, "goroutine ") {
				t.Errorf("it says %s", ended.Output)
			}
			t.Log(strings.TrimSpace(ended.Output))
		})
	}
}

// user makes a user of the server with a right to the database and answers the
// DSN.
func user(t *testing.T, dsn config.Secret, right string) config.Secret {
	t.Helper()
	server := storetest.Server(t)
	name := "nanoclaw_test_" + strings.ToLower(fmt.Sprintf("%x", time.Now().UnixNano()))
	storetest.Admin(t, "CREATE USER '"+name+"'@'%' IDENTIFIED BY 'hunter2'")
	t.Cleanup(func() { storetest.Admin(t, "DROP USER '"+name+"'@'%'") })
	database := databaseOf(dsn)
	if right != "" {
		storetest.Admin(t, "GRANT "+right+" ON "+database+".* TO '"+name+"'@'%'")
	}
	return config.Secret(name + ":hunter2@tcp(" + server.Addr + ")/" + database)
}

func databaseOf(dsn config.Secret) string {
	_, database, _ := strings.Cut(dsn.Reveal(), ")/")
	database, _, _ = strings.Cut(database, "?")
	return database
}

func userWithoutRights(t *testing.T) config.Secret { return user(t, storetest.MySQL(t).DSN, "") }

func userWhoReads(t *testing.T) config.Secret { return user(t, storetest.MySQL(t).DSN, "SELECT") }

// ofTheFuture is a database that this release has made and a newer one changed.
func ofTheFuture(t *testing.T, dsn config.Secret) config.Secret {
	t.Helper()
	w := world.New(t, counting)
	w.Config.Storage = suite.StorageConfig{Driver: store.DriverMySQL, DSN: dsn}
	d := deploy(t, w)
	d.start("orchestrator")
	d.stop()
	storetest.Admin(t, "INSERT INTO "+databaseOf(dsn)+".goose_orchestrator (version_id, is_applied) VALUES (99999, 1)")
	return dsn
}

// A replica of this release that is running goes on when a newer one has changed
// the schema: migrations expand before they contract.
func TestAReplicaGoesOnWhenANewerOneHasMigrated(t *testing.T) {
	d, hands, _ := overALine(t)
	ctx, c, b := deadline(t), d.client(), d.backend("orchestrator")
	database := databaseOf(d.configs["orchestrator"].Storage.DSN)
	storetest.Admin(t, "ALTER TABLE "+database+".runs ADD COLUMN of_the_future VARCHAR(20) NOT NULL DEFAULT ''")
	storetest.Admin(t, "INSERT INTO "+database+".goose_orchestrator (version_id, is_applied) VALUES (99999, 1)")
	a := b.ask(ctx, t, "a run on a newer schema")
	var r reader
	r.watch(ctx, a, b)
	checkEnded(t, c, hands, a, &r)
	d.stop()
	if _, err := d.launch("orchestrator"); err == nil || !strings.Contains(err.Error(), "written by a newer nanoclaw") {
		t.Errorf("started again: %v", err)
	}
}
