package suite

import (
	"errors"
	"fmt"
	"time"

	"github.com/nanoclaw/nanoclaw/services/fetcher"
	"github.com/nanoclaw/nanoclaw/services/gateway"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/blob"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/cache"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/store"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/telemetry"
	"github.com/nanoclaw/nanoclaw/services/orchestrator"
	"github.com/nanoclaw/nanoclaw/services/sandbox"
	"github.com/nanoclaw/nanoclaw/services/search"
	"github.com/nanoclaw/nanoclaw/services/taskmanager"
)

// Config is the whole configuration: config.yml, NANOCLAW_* variables, flags.
type Config struct {
	// DataDir is the folder of databases, stored results and the local token.
	DataDir string `config:"data_dir"`

	HTTP      HTTPConfig      `config:"http"`
	GRPC      GRPCConfig      `config:"grpc"`
	Admin     AdminConfig     `config:"admin"`
	Log       LogConfig       `config:"log"`
	Telemetry TelemetryConfig `config:"telemetry"`
	Netguard  NetguardConfig  `config:"netguard"`

	// Services says where the services are that this process does not run.
	Services ServicesConfig `config:"services"`
	Auth     AuthConfig     `config:"auth"`
	TLS      TLSConfig      `config:"tls"`
	Storage  StorageConfig  `config:"storage"`
	Cache    cache.Config   `config:"cache"`
	Blobs    blob.Config    `config:"blobs"`

	// The orchestrator's keys stand at the top: models, default_model, tools,
	// providers and runs.
	orchestrator.Config

	Crawler fetcher.Config     `config:"crawler"`
	Search  search.Config      `config:"search"`
	Tasks   taskmanager.Config `config:"tasks"`
	Sandbox sandbox.Config     `config:"sandbox"`
}

// GRPCConfig is where gRPC is served.
type GRPCConfig struct {
	// Addr is host:port; port 0 takes a free one.
	Addr string `config:"addr"`
	// Advertise is host:port by which other replicas of the orchestrator reach
	// this one. Empty: there are none.
	Advertise string `config:"advertise"`
}

// ServicesConfig has the address of each service that runs elsewhere: host:port,
// or dns:///name:port for all replicas behind a name.
type ServicesConfig struct {
	Orchestrator string `config:"orchestrator"`
	Search       string `config:"search"`
	Fetcher      string `config:"fetcher"`
	TaskManager  string `config:"task_manager"`
	Sandbox      string `config:"sandbox"`
}

func (c ServicesConfig) of(target string) string {
	switch target {
	case TargetOrchestrator:
		return c.Orchestrator
	case TargetSearch:
		return c.Search
	case TargetFetcher:
		return c.Fetcher
	case TargetTaskManager:
		return c.TaskManager
	case TargetSandbox:
		return c.Sandbox
	}
	return ""
}

// AuthConfig is how processes of one deployment know each other.
type AuthConfig struct {
	// SigningKeyFile holds the deployment's Ed25519 key, the same for every
	// process. Empty: identity.key in the data folder, made at the first start.
	SigningKeyFile string `config:"signing_key_file"`
}

// TLSConfig protects gRPC between processes. Empty: plaintext.
type TLSConfig struct {
	// CertFile and KeyFile are what this process shows, as server and client.
	CertFile string `config:"cert_file"`
	KeyFile  string `config:"key_file"`
	// ClientCAFile makes callers show a certificate of this authority.
	ClientCAFile string `config:"client_ca_file"`
	// CAFile is who vouches for the servers that are called; empty: the
	// system's authorities.
	CAFile string `config:"ca_file"`
}

// StorageConfig is where records are.
type StorageConfig struct {
	// Driver is sqlite, a file a service in the data folder, or mysql.
	Driver string `config:"driver"`
	// DSN of mysql: user:password@tcp(host:port)/. Each service has the
	// database nanoclaw_<service>, unless the DSN names one.
	DSN config.Secret `config:"dsn"`
}

// AdminConfig is where operators look.
type AdminConfig struct {
	// Addr is host:port on loopback, for metrics, profiles and reflection; port
	// 0 takes a free one.
	Addr string `config:"addr"`
	// MetricsAddr is host:port of metrics alone, for a Prometheus on another
	// machine. Empty: they are on Addr only.
	MetricsAddr string `config:"metrics_addr"`
}

// HTTPConfig is where and for whom HTTP is served.
type HTTPConfig struct {
	// Addr is host:port; port 0 takes a free one.
	Addr string `config:"addr"`
	// AllowedHosts are names beside loopback and Addr by which this server may
	// be asked for.
	AllowedHosts []string `config:"allowed_hosts"`
	// MaxUploadMiB of one request that sends files.
	MaxUploadMiB int `config:"max_upload_mib"`
}

// LogConfig is how the log is written.
type LogConfig struct {
	// Level is debug, info, warn or error.
	Level string `config:"level"`
	// Format is text or json.
	Format string `config:"format"`
}

// TelemetryConfig is where traces go.
type TelemetryConfig struct {
	// Exporter is none, stdout or otlp.
	Exporter string `config:"exporter"`
	// OTLPEndpoint is host:port or a URL.
	OTLPEndpoint string `config:"otlp_endpoint"`
	// TraceURL is where people look at a trace, with {trace_id} in it:
	// http://127.0.0.1:16686/trace/{trace_id}. The web app links to it.
	TraceURL string `config:"trace_url"`
	// SampleRatio of the traces begun here is exported, over 0 up to 1.
	SampleRatio float64 `config:"sample_ratio"`
}

// NetguardConfig opens single addresses to fetching.
type NetguardConfig struct {
	// Allow lists exact ip:port entries that may be fetched although they are
	// not public.
	Allow []string `config:"allow"`
}

// DefaultConfig holds until somebody says otherwise.
func DefaultConfig() Config {
	t := telemetry.DefaultConfig()
	return Config{
		DataDir:   "data",
		HTTP:      HTTPConfig{Addr: "127.0.0.1:3000", MaxUploadMiB: gateway.DefaultMaxUploadBytes >> 20},
		GRPC:      GRPCConfig{Addr: "127.0.0.1:3001"},
		Admin:     AdminConfig{Addr: "127.0.0.1:3002"},
		Log:       LogConfig{Level: "info", Format: "text"},
		Telemetry: TelemetryConfig{Exporter: t.Exporter, OTLPEndpoint: t.OTLPEndpoint, SampleRatio: t.SampleRatio},
		Storage:   StorageConfig{Driver: store.DriverSQLite},
		Cache:     cache.Config{Driver: cache.DriverMemory},
		Config:    orchestrator.DefaultConfig(),
		Crawler:   fetcher.DefaultConfig(),
		Search:    search.DefaultConfig(),
		Tasks:     taskmanager.DefaultConfig(),
		Sandbox:   sandbox.DefaultConfig(),
	}
}

// LoadOptions say where the configuration comes from.
type LoadOptions struct {
	// File is the path of config.yml. A file that is not there is only an
	// error when FileRequired.
	File         string
	FileRequired bool
	// Env is the environment, as os.Environ gives it.
	Env []string
	// Flags by the key that they set.
	Flags map[string]any
	// Origins, when not nil, is told for each key where its value came from.
	Origins map[string]string
	// Serving asks for [Config.Servable] too.
	Serving bool
}

// Load reads the configuration: defaults, then the file, the environment and
// the flags, each over the one before.
func Load(o LoadOptions) (cfg Config, warnings []string, err error) {
	cfg = DefaultConfig()
	if o.Origins == nil {
		o.Origins = map[string]string{}
	}
	secrets := map[string]config.SecretOrigin{}
	warnings, err = config.Load(&cfg, config.Sources{
		File: o.File, FileRequired: o.FileRequired, Env: o.Env, EnvPrefix: config.DefaultEnvPrefix,
		EnvAliases: []config.EnvAlias{
			{Variable: "WEB_SEARCH_ADAPTER", Key: "search.adapter"},
			{Variable: "BRAVE_SEARCH_API_KEY", Key: "search.brave.api_key"}, {Variable: "BRAVE_API_KEY", Key: "search.brave.api_key"},
		},
		EnvIgnore: []string{"NANOCLAW_CONFIG", "NANOCLAW_TOKEN", "NANOCLAW_SERVER", "NANOCLAW_TEST_SEED", "NANOCLAW_TEST_FULL", "NANOCLAW_TEST_PROGRAMS", "NANOCLAW_TEST_REDIS_URL", "NANOCLAW_TEST_MYSQL_DSN", "NANOCLAW_TEST_S3_GATEWAY"},
		Flags:     o.Flags, Origins: o.Origins, Secrets: secrets,
	})
	if err != nil {
		return cfg, warnings, err
	}
	for i := range cfg.Models {
		cfg.Models[i].KeyOrigin = secrets[fmt.Sprintf("models[%d].api_key", i)]
	}
	err = cfg.Validate()
	if o.Serving {
		err = errors.Join(err, cfg.Servable())
	}
	return cfg, warnings, config.Locate(err, o.Origins)
}

// Times of starting and stopping.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is half of what a call inside may carry: a header that came
	// in always fits into the metadata of the call.
	maxHeaderBytes = 32 << 10
	adminStopTime  = time.Second
	// lastSpansTime is how long the last traces may take to be sent.
	lastSpansTime = 3 * time.Second
)
