package suite

import (
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
		if !found && key != "tools.timeouts" { // an empty map sets nothing
			t.Errorf("the example does not name %s", key)
		}
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
