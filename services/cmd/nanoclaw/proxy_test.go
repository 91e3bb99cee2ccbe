package main

import (
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// flakyProxy is "flaky-proxy TIMES BYTES": PROXY leads to the server of the
// script, and the first TIMES connections are cut after BYTES of answers.
func flakyProxy(ts *testscript.TestScript, _ bool, args []string) {
	times, err := strconv.Atoi(args[0])
	ts.Check(err)
	limit, err := strconv.Atoi(args[1])
	ts.Check(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := ts.Getenv("GRPC_ADDR")
	var open sync.WaitGroup
	open.Go(func() {
		for n := 0; ; n++ {
			client, err := l.Accept()
			if err != nil {
				return // closed at the end of the script
			}
			cut := int64(limit)
			if n >= times {
				cut = 1 << 40
			}
			open.Go(func() { forward(client, server, cut) })
		}
	})
	ts.Defer(func() {
		_ = l.Close()
		open.Wait()
	})
	ts.Setenv("PROXY", l.Addr().String())
}

// forward joins client and server until one of them leaves, or limit bytes of
// answers have passed.
func forward(client net.Conn, server string, limit int64) {
	defer client.Close()
	upstream, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer upstream.Close()
	var up sync.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(upstream, client)
		_ = upstream.Close()
	})
	_, _ = io.CopyN(client, upstream, limit)
	_ = client.Close()
	up.Wait()
}
