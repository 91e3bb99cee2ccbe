package suite

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/netguard"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
)

// traceIDPlace is where a trace's id goes in telemetry.trace_url.
const traceIDPlace = "{trace_id}"

// adminKey is the setting of the port that has no token.
const adminKey = "admin.addr"

// mostUploadMiB is a TiB: more is a slip of the pen.
const mostUploadMiB = 1 << 20

// Validate names every setting that cannot be.
func (c Config) Validate() error {
	var errs []error
	if c.DataDir == "" {
		errs = append(errs, errors.New("data_dir is empty: name a folder"))
	}
	for _, l := range []struct{ key, addr string }{
		{"http.addr", c.HTTP.Addr}, {"grpc.addr", c.GRPC.Addr}, {"admin.addr", c.Admin.Addr}, {metricsKey, c.Admin.MetricsAddr},
	} {
		if l.key == metricsKey && l.addr == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(l.addr); err != nil {
			errs = append(errs, fmt.Errorf("%s: %q is not host:port, such as 127.0.0.1:3000", l.key, l.addr))
		}
	}
	if m := c.HTTP.MaxUploadMiB; m < 1 || m > mostUploadMiB {
		errs = append(errs, fmt.Errorf("http.max_upload_mib is %d: it must be 1 to %d", m, mostUploadMiB))
	}
	for _, t := range []struct{ key, target string }{
		{"grpc.advertise", c.GRPC.Advertise}, {"services.orchestrator", c.Services.Orchestrator},
		{"services.search", c.Services.Search}, {"services.fetcher", c.Services.Fetcher},
		{"services.task_manager", c.Services.TaskManager}, {"services.sandbox", c.Services.Sandbox},
	} {
		if t.target == "" {
			continue
		}
		if err := rpc.CheckTarget(t.target); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.key, err))
		}
	}
	if d := c.Storage.Driver; d != store.DriverSQLite && d != store.DriverMySQL {
		errs = append(errs, noneOf("storage.driver", d, store.DriverSQLite, store.DriverMySQL))
	} else if (d == store.DriverMySQL) != (c.Storage.DSN != "") {
		errs = append(errs, errors.New("storage.dsn belongs to storage.driver mysql: set both or neither"))
	} else if d == store.DriverMySQL {
		if err := store.CheckDSN(c.Storage.DSN); err != nil {
			errs = append(errs, fmt.Errorf("storage.%w", err))
		}
	}
	if _, err := netguard.New(netguard.Config{Allow: c.Netguard.Allow}); err != nil {
		errs = append(errs, cmp.Or(errors.Unwrap(err), err)) // without the name of the guard
	}
	var missing *rpcerr.Error // an engine that is known and not there is told by each search
	if _, err := c.Search.Engines(); err != nil && !errors.As(err, &missing) {
		errs = append(errs, fmt.Errorf("search.adapter: %s", strings.TrimPrefix(err.Error(), "search: adapter ")))
	}
	errs = append(errs, c.Log.validate(), c.Telemetry.validate(), c.replicas(), c.Config.Validate(), c.Cache.Validate(), c.Blobs.Validate(), c.Crawler.Validate(), c.Search.Validate(),
		c.Tasks.Validate(), c.Sandbox.Validate())
	return errors.Join(errs...)
}

// Servable names what [Start] refuses to serve with, beside what [Config.Validate]
// knows: addresses that may not be listened on, and files that are missing or
// wrong. Commands that serve nothing need none of them.
func (c Config) Servable() error {
	return errors.Join(c.adminStays(), c.tlsFiles(), c.keyFile())
}

func (c Config) adminStays() error {
	if loopback(c.Admin.Addr) {
		return nil
	}
	return notWithoutToken(adminKey, c.Admin.Addr)
}

func notWithoutToken(key, addr string) error {
	return fmt.Errorf("%s is %s: without a token only loopback addresses such as 127.0.0.1 are listened on", key, addr)
}

func (c Config) tlsFiles() error {
	if err := c.TLS.RPC().Check(); err != nil {
		return fmt.Errorf("tls: %s", strings.TrimPrefix(err.Error(), "TLS: "))
	}
	return nil
}

func (c Config) keyFile() error {
	if c.Auth.SigningKeyFile == "" {
		return nil
	}
	if _, err := auth.LoadKey(c.Auth.SigningKeyFile); err != nil {
		return fmt.Errorf("auth.signing_key_file: %s", strings.TrimPrefix(err.Error(), "signing key: "))
	}
	return nil
}

// replicas refuses replicas of the orchestrator that would not share what they
// must.
func (c Config) replicas() error {
	switch {
	case c.GRPC.Advertise == "":
		return nil
	case c.Storage.Driver != store.DriverMySQL:
		return errors.New("grpc.advertise makes this process a replica, and replicas share a database: set storage.driver to mysql")
	case c.Blobs.URL == "":
		return errors.New("grpc.advertise makes this process a replica, and replicas share their blobs: set blobs.url to s3://bucket, or to a folder that all of them see")
	}
	return nil
}

func (c LogConfig) validate() error {
	var level slog.Level
	var errs []error
	if level.UnmarshalText([]byte(c.Level)) != nil {
		errs = append(errs, noneOf("log.level", c.Level, "debug", "info", "warn", "error"))
	}
	if c.Format != telemetry.FormatText && c.Format != telemetry.FormatJSON {
		errs = append(errs, noneOf("log.format", c.Format, telemetry.FormatText, telemetry.FormatJSON))
	}
	return errors.Join(errs...)
}

func (c TelemetryConfig) validate() error {
	var errs []error
	if e := c.Exporter; e != telemetry.ExporterNone && e != telemetry.ExporterStdout && e != telemetry.ExporterOTLP {
		errs = append(errs, noneOf("telemetry.exporter", e, telemetry.ExporterNone, telemetry.ExporterStdout, telemetry.ExporterOTLP))
	}
	if u := c.TraceURL; u != "" && (!strings.Contains(u, traceIDPlace) || !strings.HasPrefix(u, "http://") && !strings.HasPrefix(u, "https://")) {
		errs = append(errs, fmt.Errorf("telemetry.trace_url: %q is not a web address with %s in it, such as http://127.0.0.1:16686/trace/%s", u, traceIDPlace, traceIDPlace))
	}
	if !(c.SampleRatio > 0 && c.SampleRatio <= 1) {
		errs = append(errs, fmt.Errorf("telemetry.sample_ratio: %g is not over 0 and up to 1; for no traces set telemetry.exporter to none", c.SampleRatio))
	}
	return errors.Join(errs...)
}

// noneOf is for a word that is not among those that a setting takes.
func noneOf(key, word string, words ...string) error {
	text := fmt.Sprintf("%s: %q is none of %s", key, word, strings.Join(words, ", "))
	if meant := spelling.Nearest(word, words); meant != "" {
		text += ", did you mean " + meant + "?"
	}
	return errors.New(text)
}
