// Package addrtest chooses addresses on loopback for tests that must know one
// before somebody listens there, or that need one where nobody does.
//
// A port that the system chose and got back may be anybody's a moment later: of
// another test, or of an outgoing connection. An address of this package is
// nobody else's. On Linux all of 127.0.0.0/8 is this machine, and every process
// has hosts of its own there, made from its id; outgoing connections come from
// 127.0.0.1. The ports lie below those that systems choose themselves (Linux
// from 32768, the others from 49152), so that neither a listener at all
// addresses nor, where 127.0.0.1 is the only one, anybody with port 0 gets them.
package addrtest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

const (
	firstPort = 20000
	ports     = 12000
	// hosts is how many a process has.
	hosts = 3
)

// taken counts the ports that this process has chosen: none is chosen twice.
var taken atomic.Uint32

// Choose chooses an address, host:port.
func Choose() (string, error) {
	addrs, err := choose(1)
	if err != nil {
		return "", err
	}
	return addrs[0], nil
}

// Reserve is Choose for a test.
func Reserve(t testing.TB) string {
	t.Helper()
	return Replicas(t, 1)[0]
}

// Replicas are up to 3 addresses with one port, each at a host of its own.
func Replicas(t testing.TB, n int) []string {
	t.Helper()
	addrs, err := choose(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

func choose(n int) ([]string, error) {
	if n < 1 || n > hosts {
		return nil, fmt.Errorf("choose %d addresses: a process has %d hosts", n, hosts)
	}
	for range ports {
		number := port(os.Getpid(), taken.Add(1))
		addrs := make([]string, n)
		for i := range addrs {
			addrs[i] = net.JoinHostPort(host(os.Getpid(), i).String(), number)
		}
		if n == 1 && !local(addrs[0]) {
			addrs[0] = net.JoinHostPort("127.0.0.1", number)
		}
		switch err := free(addrs); {
		case err == nil:
			return addrs, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("choose an address: %w", err)
		}
	}
	return nil, fmt.Errorf("choose an address: every port from %d to %d is in use", firstPort, firstPort+ports-1)
}

// host is one of a process's hosts: 64 times 65536 processes, the most that
// Linux has, and none of them in 127.0.0.0/16, which is everybody's.
func host(pid, i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + 64*i + pid>>16&63), byte(pid >> 8), byte(pid)})
}

// port is the nth port of a process. Processes begin apart, for systems on
// which they share a host.
func port(pid int, n uint32) string {
	const apart = 37
	return strconv.Itoa(firstPort + (pid*apart+int(n))%ports)
}

// local says whether this machine takes connections at an address.
func local(addr string) bool {
	return !errors.Is(free([]string{addr}), syscall.EADDRNOTAVAIL)
}

// free says why somebody cannot listen at the addresses.
func free(addrs []string) error {
	for _, addr := range addrs {
		lis, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		if err := lis.Close(); err != nil {
			return err
		}
	}
	return nil
}
