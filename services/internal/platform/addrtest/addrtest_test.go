package addrtest

import (
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
)

func TestEveryAddressIsChosenOnceAndFree(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		addr := Reserve(t)
		if seen[addr] {
			t.Fatalf("%s was chosen twice", addr)
		}
		seen[addr] = true
		parsed, err := netip.ParseAddrPort(addr)
		if err != nil || !parsed.Addr().IsLoopback() || parsed.Port() >= 32768 {
			t.Errorf("%s, %v", addr, err)
		}
		if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
			_ = conn.Close()
			t.Errorf("somebody listens at %s", addr)
		}
		lis, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := lis.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAPortInUseIsPassedOver(t *testing.T) {
	at, _, err := net.SplitHostPort(Reserve(t))
	if err != nil {
		t.Fatal(err)
	}
	next := net.JoinHostPort(at, port(os.Getpid(), taken.Load()+1))
	lis, err := net.Listen("tcp", next)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	if got := Reserve(t); got == next {
		t.Errorf("%s is in use and was chosen", next)
	}
}

func TestReplicasShareAPort(t *testing.T) {
	if !local(net.JoinHostPort(host(os.Getpid(), 1).String(), "0")) {
		t.Skip("this system has one loopback address only")
	}
	addrs := Replicas(t, hosts)
	all := map[netip.Addr]bool{}
	ports := map[uint16]bool{}
	for _, addr := range addrs {
		a := netip.MustParseAddrPort(addr)
		all[a.Addr()], ports[a.Port()] = true, true
	}
	if len(all) != hosts || len(ports) != 1 {
		t.Errorf("replicas at %v", addrs)
	}
}

func TestNoTwoProcessesShareAHost(t *testing.T) {
	const most = 1 << 22 // the largest id of a process on Linux
	seen := map[netip.Addr]int{}
	for pid := 1; pid < most; pid += 4099 {
		for i := range hosts {
			h := host(pid, i)
			if other, there := seen[h]; there {
				t.Fatalf("processes %d and %d share %s", other, pid, h)
			}
			if !h.IsLoopback() || h.As4()[1] == 0 {
				t.Fatalf("process %d has %s", pid, h)
			}
			seen[h] = pid
		}
	}
}
