package rpc

import (
	"fmt"
	"net"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

const (
	complaintInterval = time.Minute
	maxComplainedOf   = 1024
)

// oncePerPeer keeps a peer that is wrong at every call from filling the log.
type oncePerPeer struct {
	peers *lru.Cache[string, *rate.Sometimes]
}

func newOncePerPeer() (*oncePerPeer, error) {
	peers, err := lru.New[string, *rate.Sometimes](maxComplainedOf)
	if err != nil {
		return nil, fmt.Errorf("complaints by peer: %w", err)
	}
	return &oncePerPeer{peers}, nil
}

// do runs complain unless it did so for this host within the last minute.
func (o *oncePerPeer) do(host string, complain func()) {
	fresh := &rate.Sometimes{First: 1, Interval: complaintInterval}
	if known, ok, _ := o.peers.PeekOrAdd(host, fresh); ok {
		fresh = known
	}
	fresh.Do(complain)
}

// hostOf is an address without its port, empty for none.
func hostOf(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return host
}
