package deploy

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// parse reads a YAML document of ours; keys that v does not know are errors.
func parse[T any](t *testing.T, file string) T {
	t.Helper()
	v, err := strict[T]([]byte(read(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// collector is the frame of a collector's configuration.
type collector struct {
	Receivers, Processors, Exporters, Extensions map[string]map[string]any
	Service                                      struct {
		Extensions []string
		Pipelines  map[string]struct{ Receivers, Processors, Exporters []string }
		Telemetry  map[string]any
	}
}

func TestTheCollectorUsesWhatItHas(t *testing.T) {
	c := parse[collector](t, "deploy/otel-collector/config.yaml")
	used := map[string][]string{"extensions": c.Service.Extensions}
	for _, p := range c.Service.Pipelines {
		used["receivers"] = append(used["receivers"], p.Receivers...)
		used["processors"] = append(used["processors"], p.Processors...)
		used["exporters"] = append(used["exporters"], p.Exporters...)
	}
	for kind, defined := range map[string]map[string]map[string]any{
		"receivers": c.Receivers, "processors": c.Processors, "exporters": c.Exporters, "extensions": c.Extensions,
	} {
		got, want := slices.Sorted(slices.Values(used[kind])), slices.Sorted(maps.Keys(defined))
		if !slices.Equal(slices.Compact(got), want) {
			t.Errorf("%s: %v are used, %v are there", kind, got, want)
		}
	}
	// Memory is guarded before anything is kept, and what is kept is sent in
	// batches after the decision.
	if got := c.Service.Pipelines["traces"].Processors; !slices.Equal(got, []string{"memory_limiter", "tail_sampling", "batch"}) {
		t.Errorf("processors %v", got)
	}
}

func TestTheCollectorKeepsTheTracesWorthKeeping(t *testing.T) {
	c := parse[collector](t, "deploy/otel-collector/config.yaml")
	policies, _ := c.Processors["tail_sampling"]["policies"].([]any)
	kinds := map[string]map[string]any{}
	for _, one := range policies {
		p, _ := one.(map[string]any)
		kind, _ := p["type"].(string)
		settings, ok := p[kind].(map[string]any)
		if !ok || p["name"] == "" || len(p) != 3 {
			t.Errorf("policy %v: want a name, a type, and the settings of that type", p)
		}
		kinds[kind] = settings
	}
	if got, want := slices.Sorted(maps.Keys(kinds)), []string{"latency", "probabilistic", "status_code", "string_attribute"}; !slices.Equal(got, want) {
		t.Errorf("policies %v, want %v", got, want)
	}
	// By the name that runs have in their spans.
	if s := kinds["string_attribute"]; s["key"] != "gen_ai.operation.name" || !slices.Equal(s["values"].([]any), []any{"invoke_agent"}) {
		t.Errorf("runs are known by %v", s)
	}
}

func TestPrometheusScrapesEveryProcess(t *testing.T) {
	type prometheus struct {
		Global        map[string]string
		ScrapeConfigs []struct {
			JobName      string `json:"job_name"`
			DNSSDConfigs []struct {
				Names           []string
				Type            string
				Port            int
				RefreshInterval string `json:"refresh_interval"`
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	p := project(t, "*")
	known := names(p)
	scraped := map[string]bool{}
	for _, job := range parse[prometheus](t, "deploy/prometheus/prometheus.yml").ScrapeConfigs {
		for _, sd := range job.DNSSDConfigs {
			for _, name := range sd.Names {
				if known[name] == nil || sd.Type != "A" {
					t.Errorf("%s scrapes %s, which is no service", job.JobName, name)
				}
				for _, service := range known[name] {
					if _, ours := ours(p)[service]; ours && imageEnv(t)["NANOCLAW_ADMIN_METRICS_ADDR"] == ":"+metricsPort && sd.Port == 9464 {
						scraped[service] = true
					}
				}
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(scraped)), slices.Sorted(maps.Keys(ours(p))); !slices.Equal(got, want) {
		t.Errorf("scraped are %v, of %v", got, want)
	}
}

func TestGrafanaFindsItsSourcesAndDashboards(t *testing.T) {
	type sources struct {
		APIVersion  int `json:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool
			JSONData                     map[string]any `json:"jsonData"`
		}
	}
	p := project(t, "*")
	uids := map[string]bool{}
	for _, s := range parse[sources](t, "deploy/grafana/provisioning/datasources/nanoclaw.yaml").Datasources {
		u, err := url.Parse(s.URL)
		if err != nil || names(p)[u.Hostname()] == nil {
			t.Errorf("%s is at %s: %v", s.Name, s.URL, err)
		}
		uids[s.UID] = true
	}
	for line := range strings.Lines(read(t, "deploy/grafana/provisioning/datasources/nanoclaw.yaml")) {
		if uid, ok := strings.CutPrefix(strings.TrimSpace(line), "datasourceUid: "); ok && !uids[uid] {
			t.Errorf("a link leads to the source %s, which is not there", uid)
		}
	}
	type providers struct {
		APIVersion int `json:"apiVersion"`
		Providers  []struct {
			Name, Type     string
			AllowUIUpdates bool `json:"allowUiUpdates"`
			Options        struct{ Path string }
		}
	}
	for _, from := range parse[providers](t, "deploy/grafana/provisioning/dashboards/nanoclaw.yaml").Providers {
		mounted := false
		for _, v := range p.Services["grafana"].Volumes {
			mounted = mounted || v.Target == from.Options.Path && strings.HasSuffix(v.Source, "deploy/grafana/dashboards")
		}
		if !mounted {
			t.Errorf("dashboards are read from %s, where none are mounted", from.Options.Path)
		}
	}
	var dashboard map[string]any
	if err := yaml.UnmarshalStrict([]byte(read(t, "deploy/grafana/dashboards/nanoclaw.json")), &dashboard); err != nil || dashboard["uid"] != "nanoclaw" {
		t.Errorf("dashboard: %v", err)
	}
}
