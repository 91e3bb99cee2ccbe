package config_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/config"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type crawler struct {
	MaxWorkers int           `config:"max_workers"`
	Timeout    time.Duration `config:"timeout"`
	MaxRetries uint8         `config:"max_retries"`
	UserAgent  string        `config:"user_agent"`
	Robots     bool          `config:"robots"`
	Rate       float64       `config:"rate"`
}

type model struct {
	ID            string        `config:"id"`
	Name          string        `config:"name"`
	APIURL        string        `config:"api_url"`
	APIKey        config.Secret `config:"api_key"`
	ContextWindow int           `config:"context_window"`
}

type common struct {
	DataDir string `config:"data_dir"`
}

type tools struct {
	Enabled       []string `config:"enabled"`
	MaxIterations int      `config:"max_iterations"`
}

type provider struct {
	Address string        `config:"address"`
	Token   config.Secret `config:"token"`
}

type search struct {
	Adapter string        `config:"adapter"`
	APIKey  config.Secret `config:"api_key"`
}

type settings struct {
	common
	Crawler      crawler             `config:"crawler"`
	Tools        tools               `config:"tools"`
	Models       []model             `config:"models"`
	DefaultModel string              `config:"default_model"`
	Search       search              `config:"search"`
	Providers    map[string]provider `config:"providers"`
	Tracing      *search             `config:"tracing"`
	Listen       netip.AddrPort      `config:"listen"`
	Internal     string              // no tag: not a setting
}

func defaults() settings {
	return settings{
		common:       common{DataDir: "data"},
		Crawler:      crawler{MaxWorkers: 5, Timeout: 30 * time.Second, MaxRetries: 2, UserAgent: "NanoClaw", Robots: true, Rate: 1.5},
		Tools:        tools{Enabled: []string{"web_search", "fetch_page"}, MaxIterations: 5},
		Models:       []model{{ID: "glm-5", ContextWindow: 128000}, {ID: "second"}},
		DefaultModel: "glm-5",
		Search:       search{Adapter: "bing"},
		Providers:    map[string]provider{"own": {Address: "127.0.0.1:9", Token: "keep"}},
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	for _, tc := range []struct {
		name  string
		file  string
		env   []string
		flags map[string]any
		want  func(*settings)
	}{
		{"nothing leaves the defaults", "", nil, nil, func(*settings) {}},
		{"a file of comments leaves the defaults", "# nothing yet\n", nil, nil, func(*settings) {}},
		{"a file sets single keys of a section", "crawler:\n  max_workers: 8\n", nil, nil, func(s *settings) { s.Crawler.MaxWorkers = 8 }},
		{"environment beats file", "crawler: {max_workers: 8, rate: 3}", []string{"NANOCLAW_CRAWLER_MAX_WORKERS=9"}, nil,
			func(s *settings) { s.Crawler.MaxWorkers, s.Crawler.Rate = 9, 3 }},
		{"flags beat all", "crawler: {max_workers: 8}", []string{"NANOCLAW_CRAWLER_MAX_WORKERS=9"}, map[string]any{"crawler.max_workers": 10},
			func(s *settings) { s.Crawler.MaxWorkers = 10 }},
		{"durations are Go's", "crawler: {timeout: 1m30s}", nil, nil, func(s *settings) { s.Crawler.Timeout = 90 * time.Second }},
		{"or whole seconds", "crawler: {timeout: 45}", []string{}, nil, func(s *settings) { s.Crawler.Timeout = 45 * time.Second }},
		{"a typed flag", "", nil, map[string]any{"crawler.timeout": 2 * time.Minute, "tools.enabled": []string{"a"}, "search.api_key": config.Secret("flag-secret")},
			func(s *settings) {
				s.Crawler.Timeout, s.Tools.Enabled, s.Search.APIKey = 2*time.Minute, []string{"a"}, "flag-secret"
			}},
		{"a list replaces the default list", "models:\n- {id: a, api_key: k1}\n", nil, nil,
			func(s *settings) { s.Models = []model{{ID: "a", APIKey: "k1"}} }},
		{"an empty list is empty", "tools: {enabled: []}", nil, nil, func(s *settings) { s.Tools.Enabled = []string{} }},
		{"a key without a value keeps the default", "crawler:\n  max_workers:\ndefault_model: ~\n", nil, nil, func(*settings) {}},
		{"an empty text is a value", "default_model: ''", nil, nil, func(s *settings) { s.DefaultModel = "" }},
		{"a list from the environment, with commas", "", []string{"NANOCLAW_TOOLS_ENABLED=run_code, fetch_page,"}, nil,
			func(s *settings) { s.Tools.Enabled = []string{"run_code", "fetch_page"} }},
		{"or as YAML", "", []string{`NANOCLAW_MODELS=[{"id": "x", "context_window": 5}]`}, nil,
			func(s *settings) { s.Models = []model{{ID: "x", ContextWindow: 5}} }},
		{"an empty variable is not set", "", []string{"NANOCLAW_DEFAULT_MODEL=", "WEB_SEARCH_ADAPTER="}, nil, func(*settings) {}},
		{"an alias", "search: {adapter: api}", []string{"WEB_SEARCH_ADAPTER=brave"}, nil, func(s *settings) { s.Search.Adapter = "brave" }},
		{"the prefixed name beats the alias", "", []string{"NANOCLAW_SEARCH_ADAPTER=api", "WEB_SEARCH_ADAPTER=brave"}, nil,
			func(s *settings) { s.Search.Adapter = "api" }},
		{"variables fill values in", "default_model: ${M}-${N:-fast}\ncrawler:\n  max_workers: ${W}\n  user_agent: cost $5 $${M}", []string{"M=glm", "W=7"}, nil,
			func(s *settings) {
				s.DefaultModel, s.Crawler.MaxWorkers, s.Crawler.UserAgent = "glm-fast", 7, "cost $5 ${M}"
			}},
		{"text keeps its digits", "default_model: 007\nsearch: {api_key: 0123456789}", nil, nil,
			func(s *settings) { s.DefaultModel, s.Search.APIKey = "007", "0123456789" }},
		{"map entries are added and changed", "providers:\n  own: {address: '[::1]:7'}\n  other: {token: t}\n", nil, nil,
			func(s *settings) {
				s.Providers = map[string]provider{"own": {Address: "[::1]:7", Token: "keep"}, "other": {Token: "t"}}
			}},
		{"an optional section appears when set", "", []string{"NANOCLAW_TRACING_ADAPTER=otlp"}, nil,
			func(s *settings) { s.Tracing = &search{Adapter: "otlp"} }},
		{"an embedded struct shares the section around it", "data_dir: /var/lib/nanoclaw", nil, nil, func(s *settings) { s.DataDir = "/var/lib/nanoclaw" }},
		{"a type that reads text", "listen: 127.0.0.1:3000", nil, nil, func(s *settings) { s.Listen = netip.MustParseAddrPort("127.0.0.1:3000") }},
		{"an anchor is followed", "search: &s {adapter: api}\ntracing: *s", nil, nil,
			func(s *settings) { s.Search.Adapter = "api"; s.Tracing = &search{Adapter: "api"} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, want := defaults(), defaults()
			tc.want(&want)
			warnings, err := config.Load(&got, config.Sources{
				File: write(t, tc.file), Env: tc.env, Flags: tc.flags,
				EnvAliases: []config.EnvAlias{{"WEB_SEARCH_ADAPTER", "search.adapter"}},
			})
			if err != nil || len(warnings) > 0 {
				t.Fatalf("err = %v, warnings = %q", err, warnings)
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestLoadLeavesTheDefaultsOfOthersAlone(t *testing.T) {
	base := defaults()
	cfg := base // shares the slices and the map
	if _, err := config.Load(&cfg, config.Sources{File: write(t, "models: [{id: a}]\nproviders: {own: {token: new}}\ntools: {enabled: [x]}")}); err != nil {
		t.Fatal(err)
	}
	if base.Models[0].ID != "glm-5" || base.Providers["own"].Token != "keep" || base.Tools.Enabled[0] != "web_search" {
		t.Errorf("base changed: %+v", base)
	}
}

func TestErrorsNameThePlaceTheKeyAndTheWayOut(t *testing.T) {
	for _, tc := range []struct {
		name  string
		file  string
		env   []string
		flags map[string]any
		want  []string
	}{
		{"a slip of the hand", "crawler:\n  max_worker: 3", nil, nil,
			[]string{"config.yml:2: crawler.max_worker: unknown key, did you mean crawler.max_workers?"}},
		{"the right key in the wrong section", "max_workers: 3", nil, nil,
			[]string{"config.yml:1: max_workers: unknown key, did you mean crawler.max_workers?"}},
		{"a key like no other", "crawler: {zzz: 3}", nil, nil, []string{"config.yml:1: crawler.zzz: unknown key"}},
		{"a slip inside a list", "models:\n- id: a\n- id: b\n  api_uri: x", nil, nil,
			[]string{"config.yml:4: models[1].api_uri: unknown key, did you mean models[1].api_url?"}},
		{"a slip inside a map", "providers: {a: {adress: x}}", nil, nil,
			[]string{"providers.a.adress: unknown key, did you mean providers.a.address?"}},
		{"a field that is no setting", "internal: x", nil, nil, []string{"config.yml:1: internal: unknown key"}},
		{"text for a number", "crawler: {max_workers: five}", nil, nil,
			[]string{`config.yml:1: crawler.max_workers: expected a whole number, got "five"`}},
		{"a fraction for a whole number", "crawler: {max_workers: 1.5}", nil, nil, []string{`expected a whole number, got "1.5"`}},
		{"a negative count", "crawler: {max_retries: -1}", nil, nil, []string{`crawler.max_retries: expected a whole number of 0 or more, got "-1"`}},
		{"a number too large", "crawler: {max_workers: 99999999999999999999}", nil, nil, []string{"crawler.max_workers: expected a whole number"}},
		{"no duration", "crawler: {timeout: soon}", nil, nil, []string{`crawler.timeout: expected a duration such as "15s", or whole seconds, got "soon"`}},
		{"no truth", "crawler: {robots: perhaps}", nil, nil, []string{`crawler.robots: expected true or false, got "perhaps"`}},
		{"no fraction", "crawler: {rate: x}", nil, nil, []string{`crawler.rate: expected a number, got "x"`}},
		{"no address", "listen: here", nil, nil, []string{`listen: expected a netip.AddrPort, got "here"`}},
		{"a list for a section", "crawler: [1]", nil, nil, []string{"crawler: expected a section of keys, got a list"}},
		{"a value for a list", "tools: {enabled: web_search}", nil, nil, []string{"tools.enabled: expected a list, got a single value"}},
		{"a section for a value", "default_model: {a: 1}", nil, nil, []string{"default_model: expected text, got a section of keys"}},
		{"a list for the whole file", "- a", nil, nil, []string{"config.yml:1: expected a section of keys, got a list"}},
		{"a key twice", "default_model: a\ncrawler: {}\ndefault_model: b", nil, nil, []string{"config.yml:3: default_model: is set twice, first in line 1"}},
		{"a missing variable", "search:\n  api_key: ${BRAVE_KEY}", nil, nil,
			[]string{"config.yml:2: search.api_key: environment variable BRAVE_KEY is not set; set it, or give a default: ${BRAVE_KEY:-...}"}},
		{"an open brace", "default_model: ${X", nil, nil, []string{`default_model: "${" without "}"`}},
		{"no variable name", "default_model: ${1 X}", nil, nil, []string{"default_model: ${1 X} is no variable name"}},
		{"what a variable held is not shown", "crawler: {max_workers: '${K}'}", []string{"K=sk-very-secret"}, nil,
			[]string{`crawler.max_workers: expected a whole number, got "${K}" filled in`}},
		{"broken YAML", "crawler: {max_workers: 1", nil, nil, []string{"config.yml: yaml: line"}},
		{"two documents", "a: 1\n---\nb: 2", nil, nil, []string{"more than one YAML document"}},
		{"a wrong variable", "", []string{"NANOCLAW_CRAWLER_RATE=fast"}, nil, []string{`NANOCLAW_CRAWLER_RATE: crawler.rate: expected a number, got "fast"`}},
		{"a wrong flag", "", nil, map[string]any{"crawler.timeot": 3, "crawler.rate": "x"},
			[]string{"command line: crawler.timeot: unknown key, did you mean crawler.timeout?", `command line: crawler.rate: expected a number, got "x"`}},
		{"everything wrong is told at once", "crawler: {max_worker: 1, rate: x}\nmodelz: []", nil, nil,
			[]string{"crawler.max_worker:", "crawler.rate:", "modelz: unknown key, did you mean models?"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := defaults()
			_, err := config.Load(&cfg, config.Sources{File: write(t, tc.file), Env: tc.env, Flags: tc.flags})
			if err == nil {
				t.Fatal("want an error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v\nwant it to contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "very-secret") {
				t.Errorf("leaks: %v", err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	cfg := defaults()
	warnings, err := config.Load(&cfg, config.Sources{
		File: write(t, "models: [{id: a, api_key: \" 'sk-1234567890' \\n\"}]"),
		Env: []string{
			"NANOCLAW_CRAWLER_MAX_WORKER=1", "NANOCLAW_SOMETHING_ELSE_ENTIRELY=1", "NANOCLAW_CONFIG=x", "OTHER=1",
			"BRAVE_API_KEY=one", "BRAVE_SEARCH_API_KEY=two", "notavariable",
		},
		EnvAliases: []config.EnvAlias{{"BRAVE_SEARCH_API_KEY", "search.api_key"}, {"BRAVE_API_KEY", "search.api_key"}},
		EnvIgnore:  []string{"NANOCLAW_CONFIG"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Models[0].APIKey != "sk-1234567890" || cfg.Search.APIKey != "two" {
		t.Errorf("keys = %q, %q", cfg.Models[0].APIKey.Reveal(), cfg.Search.APIKey.Reveal())
	}
	for _, want := range []string{
		"models[0].api_key: removed stray white space or quotes around the secret",
		"environment variable NANOCLAW_CRAWLER_MAX_WORKER is no setting, did you mean NANOCLAW_CRAWLER_MAX_WORKERS?",
		"BRAVE_SEARCH_API_KEY and BRAVE_API_KEY both set search.api_key and differ: BRAVE_SEARCH_API_KEY is used",
	} {
		if !slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning %q", want)
		}
	}
	if len(warnings) != 4 || strings.Contains(strings.Join(warnings, "\n"), "sk-1") {
		t.Errorf("warnings = %q", warnings)
	}
}

func TestWhereASecretCameFromIsKnownWithoutTheSecret(t *testing.T) {
	secrets := map[string]config.SecretOrigin{}
	cfg := defaults()
	file := write(t, "models:\n- {id: a, api_key: '${KEY}'}\n- {id: b, api_key: '${NONE:-}'}\n- {id: c, api_key: '${USER_PART}-${KEY}'}\n- {id: d, api_key: sk-plain}\n- {id: e}\n")
	_, err := config.Load(&cfg, config.Sources{
		File: file, Env: []string{"KEY= sk-1234567890\n", "USER_PART=u", "NANOCLAW_SEARCH_API_KEY=sk-0987654321"}, Secrets: secrets,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]config.SecretOrigin{
		"models[0].api_key": {Place: file + ":2", Variables: []string{"KEY"}, Trimmed: true},
		"models[1].api_key": {Place: file + ":3", Variables: []string{"NONE"}, Empty: true},
		"models[2].api_key": {Place: file + ":4", Variables: []string{"USER_PART", "KEY"}, Trimmed: true},
		"models[3].api_key": {Place: file + ":5"},
		"search.api_key":    {Place: "NANOCLAW_SEARCH_API_KEY"},
	}
	if diff := cmp.Diff(want, secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for key, words := range map[string]string{
		"models[0].api_key": "environment variable KEY, named in " + file + ":2",
		"models[2].api_key": "environment variables USER_PART, KEY, named in " + file + ":4",
		"models[3].api_key": file + ":5",
		"search.api_key":    "NANOCLAW_SEARCH_API_KEY",
	} {
		if got := secrets[key].String(); got != words {
			t.Errorf("%s is said to come from %q, want %q", key, got, words)
		}
	}
	if text := fmt.Sprintf("%+v", secrets); strings.Contains(text, "sk-") {
		t.Errorf("a secret is in %s", text)
	}

	// A list that is set again takes what was known of the first one with it.
	clear(secrets)
	_, err = config.Load(&cfg, config.Sources{File: file, Env: []string{"KEY=k", "USER_PART=u", "NANOCLAW_MODELS=[{id: x, api_key: sk-1234567890}]"}, Secrets: secrets})
	if diff := cmp.Diff(map[string]config.SecretOrigin{"models[0].api_key": {Place: "NANOCLAW_MODELS"}}, secrets); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

func TestMissingFiles(t *testing.T) {
	cfg := defaults()
	missing := filepath.Join(t.TempDir(), "no.yml")
	if _, err := config.Load(&cfg, config.Sources{File: missing}); err != nil {
		t.Errorf("optional file: %v", err)
	}
	if _, err := config.Load(&cfg, config.Sources{File: missing, FileRequired: true}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("required file: %v", err)
	}
	if _, err := config.Load(&cfg, config.Sources{File: t.TempDir()}); err == nil {
		t.Error("a folder is no file")
	}
}

func TestMistakesOfTheProgram(t *testing.T) {
	var number int
	clash := struct {
		A struct {
			B int `config:"b_c"`
		} `config:"a"`
		AB struct {
			C int `config:"c"`
		} `config:"a_b"`
	}{}
	odd := struct {
		F chan int `config:"f"`
	}{}
	cfg := defaults()
	for _, tc := range []struct {
		name string
		cfg  any
		src  config.Sources
		want string
	}{
		{"no struct", &number, config.Sources{}, "wants a pointer to a struct, got *int"},
		{"no pointer", defaults(), config.Sources{}, "wants a pointer to a struct"},
		{"two keys, one variable", &clash, config.Sources{}, "keys a.b_c and a_b.c would share the variable NANOCLAW_A_B_C"},
		{"an alias for nothing", &cfg, config.Sources{EnvAliases: []config.EnvAlias{{"X", "serch.adapter"}}}, "variable X stands for serch.adapter, which is no key"},
		{"a field that cannot be set", &odd, config.Sources{Flags: map[string]any{"f": []int{1}}}, "f: a field of type chan int cannot be a setting"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := config.Load(tc.cfg, tc.src); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("err = %v, want it to contain %q", err, tc.want)
			}
		})
	}
}

func TestDump(t *testing.T) {
	file := write(t, `crawler: {timeout: 45}
models:
- {id: glm-5, name: "GLM: five", api_url: "http://127.0.0.1:1/v1", api_key: sk-0123456789abcdef9f}
- {id: tiny, api_key: short}
tools: {enabled: []}
`)
	cfg := defaults()
	origins := make(map[string]string)
	if _, err := config.Load(&cfg, config.Sources{
		File: file, Env: []string{"NANOCLAW_SEARCH_ADAPTER=brave"}, Flags: map[string]any{"data_dir": "/data"}, Origins: origins,
	}); err != nil {
		t.Fatal(err)
	}
	for golden, got := range map[string]string{
		"dump.yml":         config.Dump(&cfg),
		"dump-origins.yml": strings.ReplaceAll(config.DumpOrigins(cfg, origins), filepath.Dir(file)+"/", ""),
	} {
		path := filepath.Join("testdata", golden)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; rewrite with -update)\n%s", golden, diff)
		}
	}
}

func TestADumpCanBeLoadedAgain(t *testing.T) {
	cfg := defaults()
	cfg.Listen = netip.MustParseAddrPort("127.0.0.1:3000")
	cfg.Providers = nil // its token would come back masked
	again := settings{Internal: cfg.Internal}
	if _, err := config.Load(&again, config.Sources{File: write(t, config.Dump(cfg))}); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", cfg); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
