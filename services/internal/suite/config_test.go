package suite

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

const exampleFile = "../../../deploy/config.example.yml"

func TestTheExampleIsTheDefaultsAndNamesEveryKey(t *testing.T) {
	origins := map[string]string{}
	cfg, warnings, err := Load(LoadOptions{File: exampleFile, FileRequired: true, Origins: origins})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v", err, warnings)
	}
	// An empty list or map of the example is a nil one of the defaults.
	empty := strings.NewReplacer(": []", ": empty", ": {}", ": empty", ": null", ": empty")
	got, want := empty.Replace(config.Dump(cfg)), empty.Replace(config.Dump(DefaultConfig()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the example changes something:\n%s", diff)
	}
	for _, key := range keys(reflect.TypeFor[Config](), "") {
		found := false
		for at := range origins {
			found = found || at == key || strings.HasPrefix(at, key+".") || strings.HasPrefix(at, key+"[")
		}
		if !found && key != "tools.timeouts" && key != "search.policy" { // an empty map sets nothing
			t.Errorf("the example does not name %s", key)
		}
	}
}

func TestModelsKnowWhereTheirKeyCameFrom(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte("models:\n- {id: a, api_url: 'http://127.0.0.1:1/v1', api_key: '${KEY}'}\n- {id: b, api_url: 'http://127.0.0.1:1/v1'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Load(LoadOptions{File: file, FileRequired: true, Env: []string{"KEY= k "}})
	if err != nil {
		t.Fatal(err)
	}
	want := []config.SecretOrigin{{Place: file + ":2", Variables: []string{"KEY"}, Trimmed: true}, {}}
	if diff := cmp.Diff(want, []config.SecretOrigin{cfg.Models[0].KeyOrigin, cfg.Models[1].KeyOrigin}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// keys are the settings of a struct, those of lists and maps left out.
func keys(t reflect.Type, prefix string) (out []string) {
	for f := range t.Fields() {
		name, tagged := f.Tag.Lookup("config")
		switch {
		case !tagged && f.Anonymous:
			out = append(out, keys(f.Type, prefix)...)
		case !tagged:
		case f.Type.Kind() == reflect.Struct:
			out = append(out, keys(f.Type, prefix+name+".")...)
		default:
			out = append(out, prefix+name)
		}
	}
	return out
}

func TestSettingsThatCannotBe(t *testing.T) {
	for _, tc := range []struct {
		name, env, want string
	}{
		{"an address without a port", "NANOCLAW_HTTP_ADDR=localhost", "http.addr"},
		{"uploads of nothing", "NANOCLAW_HTTP_MAX_UPLOAD_MIB=0", "http.max_upload_mib is 0"},
		{"an unknown driver", "NANOCLAW_STORAGE_DRIVER=postgres", "storage.driver"},
		{"mysql without an address", "NANOCLAW_STORAGE_DRIVER=mysql", "storage.dsn"},
		{"an address without mysql", "NANOCLAW_STORAGE_DSN=root@tcp(127.0.0.1:3306)/", "storage.dsn"},
		{"a replica on sqlite", "NANOCLAW_GRPC_ADVERTISE=10.0.0.1:3001", "storage.driver"},
		{"redis without an address", "NANOCLAW_CACHE_DRIVER=redis", "cache.url"},
		{"an unknown level", "NANOCLAW_LOG_LEVEL=wran", `NANOCLAW_LOG_LEVEL: log.level: "wran" is none of debug, info, warn, error, did you mean warn?`},
		{"an unknown format", "NANOCLAW_LOG_FORMAT=xml", "log.format"},
		{"an unknown exporter", "NANOCLAW_TELEMETRY_EXPORTER=jaeger", "telemetry.exporter"},
		{"a part of the traces that is none", "NANOCLAW_TELEMETRY_SAMPLE_RATIO=0", "telemetry.sample_ratio: 0"},
		{"more traces than there are", "NANOCLAW_TELEMETRY_SAMPLE_RATIO=1.5", "telemetry.sample_ratio: 1.5"},
		{"a service without a port", "NANOCLAW_SERVICES_SEARCH=search.local", "services.search"},
		{"a replica without a port", "NANOCLAW_GRPC_ADVERTISE=10.0.0.1", "grpc.advertise"},
		{"an engine that nobody knows", "NANOCLAW_SEARCH_ADAPTER=bong", `NANOCLAW_SEARCH_ADAPTER: search.adapter: "bong" is unknown: use one of bing,`},
		{"a name in the list of addresses", "NANOCLAW_NETGUARD_ALLOW=localhost:80", "NANOCLAW_NETGUARD_ALLOW: netguard.allow[0]: "},
		{"a range in the list of addresses", "NANOCLAW_NETGUARD_ALLOW=10.0.0.0/8", "netguard.allow[0]: "},
		{"no data folder", "NANOCLAW_DATA_DIR='' ", "data_dir"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := LoadOptions{Env: []string{tc.env}}
			if tc.want == "data_dir" {
				o = LoadOptions{Flags: map[string]any{"data_dir": ""}}
			}
			_, _, err := Load(o)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not name %s", err, tc.want)
			}
		})
	}
}

func TestADSNThatCannotBeReadIsNotShown(t *testing.T) {
	const password = "s3cr3t"
	_, _, err := Load(LoadOptions{Env: []string{"NANOCLAW_STORAGE_DRIVER=mysql", "NANOCLAW_STORAGE_DSN=root:" + password + "@nowhere"}})
	if err == nil || !strings.HasPrefix(err.Error(), "NANOCLAW_STORAGE_DSN: storage.dsn: want user:password@tcp(") || strings.Contains(err.Error(), password) {
		t.Errorf("%v", err)
	}
}

// What a server refuses at its start is told by the check of the configuration,
// and commands that serve nothing do without it.
func TestSettingsThatNobodyCanServeWith(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.pem")
	if err := os.WriteFile(text, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(dir, "nowhere.pem")
	for _, tc := range []struct {
		name string
		env  []string
		want string
	}{
		{"metrics and profiles for everybody", []string{"NANOCLAW_ADMIN_ADDR=0.0.0.0:0"}, "NANOCLAW_ADMIN_ADDR: admin.addr is 0.0.0.0:0"},
		{"a certificate without its key", []string{"NANOCLAW_TLS_CERT_FILE=" + text}, "cert_file and key_file"},
		{"a key without its certificate", []string{"NANOCLAW_TLS_KEY_FILE=" + text}, "tls: cert_file and key_file belong together"},
		{"a certificate that is not there", []string{"NANOCLAW_TLS_CERT_FILE=" + nowhere, "NANOCLAW_TLS_KEY_FILE=" + text}, "tls: cert_file: open " + nowhere},
		{"a certificate that is none", []string{"NANOCLAW_TLS_CERT_FILE=" + text, "NANOCLAW_TLS_KEY_FILE=" + text}, "tls: cert_file " + text},
		{"authorities that are not there", []string{"NANOCLAW_TLS_CA_FILE=" + nowhere}, "ca_file"},
		{"an identity that is not there", []string{"NANOCLAW_AUTH_SIGNING_KEY_FILE=" + nowhere}, "NANOCLAW_AUTH_SIGNING_KEY_FILE: auth.signing_key_file: " + nowhere + " does not exist"},
		{"an identity that is none", []string{"NANOCLAW_AUTH_SIGNING_KEY_FILE=" + text}, "auth.signing_key_file: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, _, err := Load(LoadOptions{Env: tc.env, Serving: true}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v does not say %q", err, tc.want)
			}
			cfg, _, err := Load(LoadOptions{Env: tc.env})
			if err != nil {
				t.Fatalf("a command that serves nothing is refused: %v", err)
			}
			cfg.DataDir = filepath.Join(dir, "data")
			_, err = Start(t.Context(), cfg, Options{Listen: true, Logger: slog.New(slog.DiscardHandler)})
			if want := cfg.Servable(); err == nil || want == nil || err.Error() != want.Error() {
				t.Errorf("the server says %v, the check %v", err, want)
			}
		})
	}
}

func TestReplicasShareTheirBlobs(t *testing.T) {
	_, _, err := Load(LoadOptions{Env: []string{
		"NANOCLAW_GRPC_ADVERTISE=10.0.0.1:3001", "NANOCLAW_STORAGE_DRIVER=mysql", "NANOCLAW_STORAGE_DSN=root@tcp(127.0.0.1:3306)/",
	}})
	if err == nil || !strings.Contains(err.Error(), "blobs.url") {
		t.Errorf("%v does not name blobs.url", err)
	}
}

func TestTargets(t *testing.T) {
	for _, tc := range []struct {
		name   string
		listen bool
		asked  []string
		want   string
	}{
		{"all by default", true, nil, "search fetcher task-manager sandbox orchestrator gateway"},
		{"those served alone", true, []string{"gateway", "search"}, "search gateway"},
		{"with what they need inside a process", false, []string{"orchestrator"}, "search fetcher task-manager sandbox orchestrator"},
		{"a task manager brings its fetcher", false, []string{"task-manager"}, "fetcher task-manager"},
		{"one", false, []string{"fetcher"}, "fetcher"},
		{"none that is not there", true, []string{"serach"}, "error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &Suite{opt: Options{Targets: tc.asked, Listen: tc.listen}}
			got, err := s.targets()
			if tc.want == "error" {
				if err == nil || !strings.Contains(err.Error(), "serach") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != tc.want {
				t.Errorf("%v %v, want %s", got, err, tc.want)
			}
		})
	}
}
