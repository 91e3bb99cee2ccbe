//go:build backends

package apart

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob/s3test"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/redisconn/redistest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store/storetest"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/test/internal/world"
)

// redisDatabase is a database of Redis that nobody else uses; it is emptied.
const redisDatabase = 11

// onBackends makes a world keep its records on MySQL or MariaDB, its rates in
// Redis and its blobs in S3, all of its own.
func onBackends(t *testing.T, w *world.World) {
	t.Helper()
	w.Config.Storage = suite.StorageConfig{Driver: store.DriverMySQL, DSN: storetest.MySQL(t).DSN}
	w.Config.Cache.Driver, w.Config.Cache.URL = "redis", redisURL(t)
	w.Config.Blobs.URL = s3test.Start(t).Bucket(t)
}

// redisURL is the address of an empty database of Redis.
func redisURL(t *testing.T) config.Secret {
	t.Helper()
	u, err := url.Parse(redistest.Start(t).URL.Reveal())
	if err != nil {
		t.Fatal("the address of Redis is not a URL")
	}
	u.Path = fmt.Sprint("/", redisDatabase)
	opt, err := redis.ParseURL(u.String())
	if err != nil {
		t.Fatal("the address of Redis is none")
	}
	admin := redis.NewClient(opt)
	empty := func() {
		if err := admin.FlushDB(context.Background()).Err(); err != nil {
			t.Errorf("empty database %d of Redis: %v", redisDatabase, err)
		}
	}
	empty()
	t.Cleanup(func() { empty(); _ = admin.Close() })
	return config.Secret(u.String())
}

// replicas prepares a second orchestrator and lets everybody know both by one
// name. Both listen on one port, each at a loopback address of its own.
func (d *deployment) replicas() {
	d.t.Helper()
	first, second := d.configs["orchestrator"], d.add("orchestrator2")
	addrs := addrtest.Replicas(d.t, 2)
	var hosts []string
	var port string
	for i, cfg := range []*suite.Config{first, second} {
		cfg.GRPC.Addr, cfg.GRPC.Advertise = addrs[i], addrs[i]
		host, p, err := net.SplitHostPort(addrs[i])
		if err != nil {
			d.t.Fatal(err)
		}
		hosts, port = append(hosts, host), p
	}
	d.services.Orchestrator = "dns://" + nameServer(d.t, hosts...) + "/orchestrator.test:" + port
}

// nameServer answers every question for a name with the addresses.
func nameServer(t testing.TB, addrs ...string) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		buf := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return // closed
			}
			if answer, err := resolve(buf[:n], addrs); err == nil {
				_, _ = conn.WriteTo(answer, from) // whoever asked asks again
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); serving.Wait() })
	return conn.LocalAddr().String()
}

func resolve(question []byte, addrs []string) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		if q.Type != dnsmessage.TypeA {
			continue
		}
		for _, addr := range addrs {
			a := dnsmessage.AResource{A: [4]byte(net.ParseIP(addr).To4())}
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1}, Body: &a})
		}
	}
	return m.Pack()
}

// line is a way to a server that can be cut, and has faults.
type line struct {
	t      testing.TB
	server string
	addr   string

	mu     sync.Mutex
	lis    net.Listener // nil while it is cut
	conns  map[net.Conn]bool
	faults faults
	all    sync.WaitGroup
}

// faults are what happens to a packet of a client.
type faults struct {
	// delay is how long it is on its way.
	delay time.Duration
	// refuse is an answer in place of the server's; nil: it is passed on.
	refuse func(packet []byte) []byte
	// lose says that the server gets it and that its answer is lost, with the
	// connection.
	lose func(packet []byte) bool
}

// layLine lays a line to host:port.
func layLine(t testing.TB, server string) *line {
	t.Helper()
	l := &line{t: t, server: server, addr: addrtest.Reserve(t), conns: map[net.Conn]bool{}}
	l.mend()
	t.Cleanup(func() { l.cut(); l.all.Wait() })
	return l
}

// cut closes every connection and takes none.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lis != nil {
		_ = l.lis.Close()
		l.lis = nil
	}
	for c := range l.conns {
		_ = c.Close()
	}
}

// mend lets everything through again.
func (l *line) mend() {
	l.t.Helper()
	lis, err := net.Listen("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lis = lis
	l.all.Go(func() {
		for {
			client, err := lis.Accept()
			if err != nil {
				return
			}
			l.all.Go(func() { l.join(client) })
		}
	})
}

// set changes the faults.
func (l *line) set(f faults) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = f
}

func (l *line) join(client net.Conn) {
	server, err := net.Dial("tcp", l.server)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.conns[client], l.conns[server] = true, true
	closed := l.lis == nil
	l.mu.Unlock()
	end := func() {
		_, _ = client.Close(), server.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, client)
		delete(l.conns, server)
	}
	if closed {
		end()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { defer end(); l.pass(server, client, nil) })
	both.Go(func() { defer end(); l.pass(client, server, client) })
	both.Wait()
}

// pass passes on what from sends. back is where an answer of the line's own goes.
func (l *line) pass(from, to, back net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		passed := true
		if back != nil {
			if passed, err = l.fault(buf[:n], back); err != nil {
				_, _ = to.Write(buf[:n])
				return
			}
		}
		if !passed {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

var errLost = errors.New("its answer is to be lost")

// fault does to a packet what is set.
func (l *line) fault(packet []byte, back net.Conn) (passed bool, err error) {
	l.mu.Lock()
	f := l.faults
	l.mu.Unlock()
	time.Sleep(f.delay)
	if f.lose != nil && f.lose(packet) {
		_ = back.Close()
		return true, errLost
	}
	if f.refuse == nil {
		return true, nil
	}
	answer := f.refuse(packet)
	if answer == nil {
		return true, nil
	}
	_, err = back.Write(answer)
	return false, err
}

// through is the address of a database over the line.
func (l *line) through(dsn config.Secret) config.Secret {
	return config.Secret(strings.Replace(dsn.Reveal(), l.server, l.addr, 1))
}

// tableFull answers statements that store something as a server does whose disk
// is full (the ERR packet of the client/server protocol).
func tableFull(packet []byte) []byte {
	if s := statement(packet); !strings.HasPrefix(s, "INSERT") && !strings.HasPrefix(s, "UPDATE") {
		return nil
	}
	body := binary.LittleEndian.AppendUint16([]byte{0xff}, 1114) // ER_RECORD_FILE_FULL
	body = append(body, "#HY000The table is full"...)
	return append([]byte{byte(len(body)), 0, 0, packet[3] + 1}, body...)
}

// statement is the statement that a packet holds, if any.
func statement(packet []byte) string {
	const header, query = 4, 3 // length and number; COM_QUERY
	if len(packet) <= header || packet[header] != query {
		return ""
	}
	return string(packet[header+1:])
}
