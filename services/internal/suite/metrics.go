package suite

import (
	"fmt"
	"net"
	"net/http"
)

const metricsKey = "admin.metrics_addr"

// listenMetrics takes the port of metrics alone, if there is to be one. The
// admin port stays on loopback, since it shows the memory of the process;
// metrics hold neither texts nor people, and may be read from elsewhere.
func (s *Suite) listenMetrics() (err error) {
	if s.cfg.Admin.MetricsAddr == "" {
		return nil
	}
	if s.listeners.metrics, err = net.Listen("tcp", s.cfg.Admin.MetricsAddr); err != nil {
		s.listeners.metrics = nil
		return fmt.Errorf("%s: cannot listen on %s: %w", metricsKey, s.cfg.Admin.MetricsAddr, err)
	}
	return nil
}

func (s *Suite) serveMetrics() {
	if s.listeners.metrics == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics)
	s.serveHTTP(s.listeners.metrics, mux)
}

// MetricsAddr is where metrics alone are served; empty when they are not.
func (s *Suite) MetricsAddr() string { return addrOf(s.listeners.metrics) }
