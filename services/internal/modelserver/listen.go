package modelserver

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// Running is a server that listens.
type Running struct {
	*Server
	// URL is the base address, to be used as api_url: http://127.0.0.1:1234/v1.
	URL  string
	http *http.Server
	done chan struct{}
}

// Listen plays script on addr; a port of 0 takes a free one. A script that is
// not valid is refused.
func Listen(addr string, script Script) (*Running, error) {
	if err := script.Validate(); err != nil {
		return nil, fmt.Errorf("model script: %w", err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for the scripted model: %w", err)
	}
	s := New(script)
	r := &Running{
		Server: s, URL: "http://" + l.Addr().String() + "/v1", done: make(chan struct{}),
		http: &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() {
		defer close(r.done)
		_ = r.http.Serve(l) // returns when Close is called
	}()
	return r, nil
}

// Close drops all connections and waits for the listener to end.
func (r *Running) Close() error {
	r.Server.Close()
	err := r.http.Close()
	<-r.done
	return err
}
