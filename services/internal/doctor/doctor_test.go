package doctor

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/addrtest"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/suite"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret stands wherever a secret may stand in these tests.
const secret = "sk-a-secret-that-nobody-may-see"

// quiet is a configuration in which nothing leaves the machine.
func quiet(t *testing.T) suite.Config {
	t.Helper()
	cfg := suite.DefaultConfig()
	cfg.DataDir = t.TempDir()
	if err := os.Chmod(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.HTTP.Addr, cfg.GRPC.Addr, cfg.Admin.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Search.Bing.BaseURL, cfg.Search.DuckDuckGo.BaseURL = "http://127.0.0.1:1", "http://127.0.0.1:1"
	cfg.Sandbox.Bubblewrap = filepath.Join(cfg.DataDir, "no-bwrap") // trying the sandbox has a test of its own
	return cfg
}

func start(t *testing.T, cfg suite.Config, targets ...string) *suite.Suite {
	t.Helper()
	s, err := suite.Start(t.Context(), cfg, suite.Options{Targets: targets, Listen: true, Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func stop(t *testing.T, s *suite.Suite) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func find(t *testing.T, all []Finding, check string) Finding {
	t.Helper()
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Check == check })
	if i < 0 {
		t.Fatalf("nothing is said of %q in %+v", check, all)
	}
	return all[i]
}

// shows that the finding is as wanted, has a fix where one is needed, and no
// secret.
func shows(t *testing.T, got Finding, level Level, words ...string) {
	t.Helper()
	if got.Level != level {
		t.Errorf("level = %s, want %s: %+v", got.Level, level, got)
	}
	for _, w := range words {
		if !strings.Contains(got.Message+" "+got.Fix, w) {
			t.Errorf("%q is not in %+v", w, got)
		}
	}
	if needs := got.Level == Failed || got.Level == Warning; needs != (got.Fix != "") {
		t.Errorf("a %s with the fix %q", got.Level, got.Fix)
	}
	if text, _ := json.Marshal(got); strings.Contains(string(text), secret) {
		t.Errorf("a secret is shown: %s", text)
	}
}

func TestAMachineWithoutAnythingIsHealthy(t *testing.T) {
	cfg := quiet(t)
	cfg.DataDir = filepath.Join(cfg.DataDir, "not", "yet")
	got := Examine(t.Context(), Options{Source: "no config.yml", Config: cfg, Version: "v1"})
	if !Healthy(got) {
		t.Errorf("failures: %+v", got)
	}
	for _, check := range []string{"configuration", "data folder", "identity key", "tls", "database", "cache", "blobs", "search bing", "netguard", "port http.addr"} {
		shows(t, find(t, got, check), OK)
	}
	shows(t, find(t, got, "models"), Warning, "nanoclaw chat")
	shows(t, find(t, got, "clock"), Info)
	shows(t, find(t, got, "system"), OK, "nanoclaw v1", "go1.")
	if _, err := os.Stat(cfg.DataDir); err == nil {
		t.Error("the data folder was made")
	}
}

func TestAMachineWithoutANetworkIsHealthy(t *testing.T) {
	cfg := quiet(t)
	cfg.Search.Bing.BaseURL, cfg.Search.DuckDuckGo.BaseURL = "", ""
	x := &examination{cfg: cfg, lookup: func(_ context.Context, host string) ([]string, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}}
	got := run(t.Context(), []check{{"search", x.search}})
	shows(t, find(t, got, "search bing"), Warning, "www.bing.com does not resolve", "searching the web needs the network", "name server")
	if !Healthy(got) {
		t.Errorf("failures: %+v", got)
	}
	x.cfg.Search.Bing.BaseURL = "http://search.example"
	shows(t, find(t, run(t.Context(), []check{{"search", x.search}}), "search bing"), Failed, "search.example does not resolve", "search.bing.base_url")
}

func TestEachModelEndpointIsExplained(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method != "GET" || r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer "+secret {
				status, body = http.StatusTeapot, `{"error":"not what was wanted: `+r.Method+" "+r.URL.Path+`"}`
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		level  Level
		words  []string
	}{
		{"lists the model", answer(200, `{"data":[{"id":"other"},{"id":"m"}]}`), OK, []string{"lists the model", "key sk-…ee"}},
		{"lists it as Ollama does", answer(200, `{"data":[{"id":"m:latest"}]}`), OK, nil},
		{"does not list the model", answer(200, `{"data":[{"id":"other"}]}`), Warning, []string{"not among the 1", "models[0].model"}},
		{"refuses the key", answer(401, `{"error":{"message":"Incorrect API key `+secret+`"}}`), Failed, []string{"401", "key was refused", "models[0].api_key"}},
		{"forbids", answer(403, `{}`), Failed, []string{"403", "enable the service and this model", "models[0].api_key"}},
		{"has no list", answer(404, "404 page not found"), Warning, []string{"lists no models", "404", "nanoclaw models check m --rounds 1"}},
		{"answers a web page", answer(200, "<html>Sign in</html>"), Warning, []string{"no list of models"}},
		{"has no credit", answer(402, `{"error":"pay"}`), Failed, []string{"credit"}},
		{"is overloaded", answer(503, ``), Warning, []string{"503", "try again later; if it stays, ask the provider"}},
		{"sends elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/v1", http.StatusMovedPermanently)
		}, Failed, []string{"elsewhere.example", "not followed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.handle)
			defer server.Close()
			cfg := quiet(t)
			cfg.Models = []orchestrator.ModelConfig{{ID: "m", APIURL: server.URL, APIKey: secret}}
			shows(t, find(t, Examine(t.Context(), Options{Config: cfg}), "model m"), c.level, c.words...)
		})
	}
}

func TestWhereTheKeyOfAModelCameFromIsSaid(t *testing.T) {
	const refusal = "The API key was refused"
	for _, c := range []struct {
		name  string
		model orchestrator.ModelConfig
		want  []string
	}{
		{"a variable", orchestrator.ModelConfig{APIKey: secret, KeyOrigin: config.SecretOrigin{Place: "config.yml:4", Variables: []string{"THE_KEY"}}},
			[]string{refusal, "(key sk-…ee of environment variable THE_KEY, named in config.yml:4)", "sent in the header Authorization, as a bearer token"}},
		{"with white space around it", orchestrator.ModelConfig{APIKey: secret, KeyOrigin: config.SecretOrigin{Place: "config.yml:4", Trimmed: true}},
			[]string{refusal, "(key sk-…ee of config.yml:4, without the white space or quotes around it)"}},
		{"an empty variable", orchestrator.ModelConfig{KeyOrigin: config.SecretOrigin{Place: "config.yml:4", Variables: []string{"THE_KEY"}, Empty: true}},
			[]string{"No API key was sent, because environment variable THE_KEY", "(no key is set: environment variable THE_KEY, named in config.yml:4 is empty)", "export it before the start"}},
		{"none", orchestrator.ModelConfig{}, []string{"No API key is set", "(no key is set)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
			defer server.Close()
			c.model.ID, c.model.APIURL = "m", server.URL
			shows(t, (&examination{}).model(t.Context(), 0, c.model)[0], Failed, c.want...)
		})
	}
}

func TestAModelEndpointThatIsNotReached(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	defer encrypted.Close()
	encrypted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	hold := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer silent.Close()
	defer close(hold)
	for _, c := range []struct{ name, url, words string }{
		{"nobody listens", "http://" + addrtest.Reserve(t) + "/v1", "nothing listens there"},
		{"the name does not resolve", "http://bad..name/v1", "cannot be resolved"},
		{"TLS where there is none", "https" + strings.TrimPrefix(plain.URL, "http"), "does not speak TLS"},
		{"a certificate of nobody", encrypted.URL, "TLS handshake failed"},
		{"no answer", silent.URL, "no answer within"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			if c.url == silent.URL {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
			}
			x := &examination{}
			got := x.model(ctx, 0, orchestrator.ModelConfig{ID: "m", APIURL: c.url, APIKey: secret})
			shows(t, got[0], Failed, c.words)
		})
	}
}

func TestTheClockIsHeldAgainstOthers(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead time.Duration
		level Level
		words string
	}{
		{"agrees", 2 * time.Second, OK, "agrees with the endpoint of model m"},
		{"ahead", -time.Hour, Failed, "ahead of that of the endpoint of model m"},
		{"behind", time.Minute, Failed, "behind that of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusUnauthorized)
			}))
			defer server.Close()
			cfg := quiet(t)
			cfg.Models = []orchestrator.ModelConfig{{ID: "m", APIURL: server.URL, APIKey: secret}}
			shows(t, find(t, Examine(t.Context(), Options{Config: cfg}), "clock"), c.level, c.words)
		})
	}
}

func TestWhatIsWrongIsFoundWithItsFix(t *testing.T) {
	write := func(t *testing.T, path, text string, mode fs.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(*testing.T, *suite.Config)
		check  string
		level  Level
		words  []string
	}{
		{"the data folder is a file", func(t *testing.T, c *suite.Config) {
			c.DataDir = filepath.Join(c.DataDir, "file")
			write(t, c.DataDir, "", 0o600)
		}, "data folder", Failed, []string{"not a folder"}},
		{"others may look into the data folder", func(t *testing.T, c *suite.Config) {
			if err := os.Chmod(c.DataDir, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "data folder", Warning, []string{"0755", "chmod 700"}},
		{"others may read the key", func(t *testing.T, c *suite.Config) {
			write(t, filepath.Join(c.DataDir, "identity.key"), "", 0o644)
		}, "identity key", Failed, []string{"0644", "chmod 600"}},
		{"a key that is none", func(t *testing.T, c *suite.Config) {
			write(t, filepath.Join(c.DataDir, "identity.key"), secret, 0o600)
		}, "identity key", Failed, []string{"PEM"}},
		{"a key file that is not there", func(_ *testing.T, c *suite.Config) { c.Auth.SigningKeyFile = c.DataDir + "/no.key" },
			"identity key", Failed, []string{"does not exist"}},
		{"services elsewhere without a key", func(t *testing.T, c *suite.Config) { c.Services.Search = addrtest.Reserve(t) },
			"identity key", Failed, []string{"copy it from another process"}},
		{"a service that is away", func(t *testing.T, c *suite.Config) { c.Services.Search = addrtest.Reserve(t) },
			"service search", Failed, []string{"does not answer", "services.search"}},
		{"a provider that is away", func(t *testing.T, c *suite.Config) {
			c.Providers = []orchestrator.ProviderConfig{{Name: "hands", Address: addrtest.Reserve(t)}}
		}, "provider hands", Failed, []string{"providers[0].address"}},
		{"TLS without its files", func(_ *testing.T, c *suite.Config) { c.TLS.CertFile, c.TLS.KeyFile = "/no/cert", "/no/key" },
			"tls", Failed, []string{"/no/cert"}},
		{"gRPC for others without TLS", func(_ *testing.T, c *suite.Config) { c.GRPC.Addr = "0.0.0.0:0" }, "tls", Warning, []string{"without TLS"}},
		{"a file that is no database", func(t *testing.T, c *suite.Config) {
			write(t, filepath.Join(c.DataDir, "orchestrator.db"), strings.Repeat("no database ", 1000), 0o600)
		}, "database", Failed, []string{"backup"}},
		{"a database server that is away", func(t *testing.T, c *suite.Config) {
			c.Storage = suite.StorageConfig{Driver: store.DriverMySQL, DSN: config.Secret("user:" + secret + "@tcp(" + addrtest.Reserve(t) + ")/")}
		}, "database", Failed, []string{"storage.dsn"}},
		{"a Redis that is away", func(t *testing.T, c *suite.Config) {
			c.Cache.Driver, c.Cache.URL = "redis", config.Secret("redis://user:"+secret+"@"+addrtest.Reserve(t))
		}, "cache", Failed, []string{"cache.url"}},
		{"blobs in a file", func(t *testing.T, c *suite.Config) {
			c.Blobs.URL = filepath.Join(c.DataDir, "file")
			write(t, c.Blobs.URL, "", 0o600)
		}, "blobs", Failed, []string{"blobs.url"}},
		{"an engine that does not resolve", func(_ *testing.T, c *suite.Config) { c.Search.Bing.BaseURL = "http://bad..name" },
			"search bing", Failed, []string{"bad..name", "search.bing.base_url"}},
		{"an engine behind the first that does not resolve", func(_ *testing.T, c *suite.Config) { c.Search.DuckDuckGo.BaseURL = "http://bad..name" },
			"search duckduckgo", Warning, nil},
		{"an engine that nobody knows", func(_ *testing.T, c *suite.Config) { c.Search.Adapter = "bang" }, "search", Failed, []string{"bang", "bing, duckduckgo"}},
		{"an engine that is not there yet", func(_ *testing.T, c *suite.Config) { c.Search.Adapter = "brave" }, "search", Failed, []string{"Brave"}},
		{"a name in the netguard list", func(_ *testing.T, c *suite.Config) { c.Netguard.Allow = []string{"localhost:80"} },
			"netguard", Failed, []string{"localhost:80"}},
		{"an address in the netguard list", func(_ *testing.T, c *suite.Config) { c.Netguard.Allow = []string{"127.0.0.1:80"} },
			"netguard", Warning, []string{"127.0.0.1:80"}},
		{"an admin port for others", func(_ *testing.T, c *suite.Config) { c.Admin.Addr = "0.0.0.0:0" }, "port admin.addr", Failed, []string{"127.0.0.1"}},
		{"a collector that is away", func(t *testing.T, c *suite.Config) {
			c.Telemetry.Exporter, c.Telemetry.OTLPEndpoint = "otlp", addrtest.Reserve(t)
		},
			"traces", Warning, []string{"telemetry.otlp_endpoint"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := quiet(t)
			c.change(t, &cfg)
			shows(t, find(t, Examine(t.Context(), Options{Config: cfg}), c.check), c.level, c.words...)
		})
	}
}

func TestAPortOfSomebodyElse(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	at := strings.TrimPrefix(other.URL, "http://")
	cfg := quiet(t)
	cfg.HTTP.Addr, cfg.GRPC.Addr, cfg.Admin.Addr = at, at, at
	got := Examine(t.Context(), Options{Config: cfg})
	for _, key := range []string{"http.addr", "grpc.addr", "admin.addr"} {
		shows(t, find(t, got, "port "+key), Failed, "in use by another program", key)
	}
}

func TestAConfigurationThatCannotBeRead(t *testing.T) {
	_, _, err := suite.Load(suite.LoadOptions{Flags: map[string]any{"storage.driver": "csv", "http.addr": "here"}})
	got := Examine(t.Context(), Options{ConfigErr: err})
	if Count(got, Failed) != 2 || got[len(got)-1].Check != "browser" {
		t.Errorf("findings = %+v", got)
	}
	shows(t, got[0], Failed, "http.addr")
	shows(t, got[1], Failed, "csv")
}

func TestARunningServerIsKnownAndNothingIsChanged(t *testing.T) {
	cfg := quiet(t)
	s := start(t, cfg)
	running := cfg
	running.HTTP.Addr, running.GRPC.Addr, running.Admin.Addr = s.HTTPAddr(), s.GRPCAddr(), s.AdminAddr()
	got := Examine(t.Context(), Options{Config: running})
	if !Healthy(got) {
		t.Errorf("findings = %+v", got)
	}
	shows(t, find(t, got, "data folder"), OK, "the server with pid")
	shows(t, find(t, got, "database"), OK, "SQLite", "version")
	shows(t, find(t, got, "identity key"), OK, "fingerprint")
	for _, key := range []string{"http.addr", "grpc.addr", "admin.addr"} {
		shows(t, find(t, got, "port "+key), OK, "running nanoclaw")
	}
	elsewhere := running
	elsewhere.DataDir = t.TempDir()
	shows(t, find(t, Examine(t.Context(), Options{Config: elsewhere}), "port http.addr"), Warning, "another data folder")

	stop(t, s)
	before := files(t, cfg.DataDir)
	got = Examine(t.Context(), Options{Config: cfg})
	if after := files(t, cfg.DataDir); !slices.Equal(before, after) || !Healthy(got) {
		t.Errorf("files before and after:\n%v\n%v\n%+v", before, after, got)
	}
	shows(t, find(t, got, "data folder"), OK, "no server runs on it")
	shows(t, find(t, got, "database"), OK, "version")
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if !d.IsDir() { // a probe in a folder moves its time
			all = append(all, path+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAServiceElsewhereMustTakeOurIdentity(t *testing.T) {
	far := quiet(t)
	s := start(t, far, suite.TargetSearch)
	near := quiet(t)
	near.Services.Search = s.GRPCAddr()
	near.Auth.SigningKeyFile = filepath.Join(far.DataDir, "identity.key")
	shows(t, find(t, Examine(t.Context(), Options{Config: near}), "service search"), OK, "takes our identity")

	wrong := near
	wrong.Services.Search, wrong.Services.Fetcher = "", s.GRPCAddr()
	shows(t, find(t, Examine(t.Context(), Options{Config: wrong}), "service fetcher"), Failed)

	near.Auth.SigningKeyFile = filepath.Join(t.TempDir(), "other.key")
	if _, _, err := auth.LoadOrCreateKey(near.Auth.SigningKeyFile); err != nil {
		t.Fatal(err)
	}
	shows(t, find(t, Examine(t.Context(), Options{Config: near}), "service search"), Failed, "refuses our identity", "same identity key")
}

func TestACheckThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		began := time.Now()
		got := run(t.Context(), []check{
			{"stuck", func(context.Context) []Finding { <-release; return nil }},
			{"slow", func(ctx context.Context) []Finding { <-ctx.Done(); return failed("wait", "%v", ctx.Err()) }},
			{"quick", func(context.Context) []Finding { return ok("done") }},
		})
		if took := time.Since(began); took != deadline+grace || len(got) != 3 {
			t.Errorf("%d findings after %s", len(got), took)
		}
		shows(t, find(t, got, "stuck"), Failed, "did not end within 10s")
		shows(t, find(t, got, "slow"), Failed, "deadline exceeded")
		shows(t, find(t, got, "quick"), OK)
	})
}
