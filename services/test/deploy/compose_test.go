package deploy

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const composeDir = "deploy/compose"

// dotEnv is .env.example as a person fills it in.
func dotEnv(t testing.TB) map[string]string {
	t.Helper()
	env := map[string]string{}
	for line := range strings.Lines(read(t, composeDir+"/.env.example")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		if value == "" {
			value = "filled-in-" + strings.ToLower(name)
		}
		env[name] = value
	}
	return env
}

func load(env map[string]string, file string, profiles ...string) (*types.Project, error) {
	var list []string
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	options, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(list), cli.WithDefaultProfiles(profiles...),
		cli.WithWorkingDirectory(filepath.Join(root, composeDir)), cli.WithResolvedPaths(true))
	if err != nil {
		return nil, err
	}
	return options.LoadProject(context.Background())
}

func project(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	p, err := load(dotEnv(t), filepath.Join(root, composeDir, "compose.yaml"), profiles...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ours are the services that run nanoclaw.
func ours(p *types.Project) map[string]types.ServiceConfig {
	out := map[string]types.ServiceConfig{}
	for name, s := range p.Services {
		if image, _, _ := strings.Cut(s.Image, ":"); image == plainImage || image == codeImage {
			out[name] = s
		}
	}
	return out
}

func TestComposeProfilesStartWhatTheySay(t *testing.T) {
	backends := []string{"mysql", "redis", "jaeger"}
	for _, tc := range []struct {
		profiles string
		want     []string
	}{
		{"single", []string{"nanoclaw"}},
		{"split", []string{"orchestrator-1", "orchestrator-2", "search", "fetcher", "task-manager", "sandbox", "gateway"}},
		{"single,collector", []string{"nanoclaw", "otel-collector"}},
		{"single,metrics", []string{"nanoclaw", "prometheus", "grafana"}},
	} {
		t.Run(tc.profiles, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(project(t, strings.Split(tc.profiles, ",")...).Services))
			if want := slices.Sorted(slices.Values(append(tc.want, backends...))); !slices.Equal(got, want) {
				t.Errorf("services %v, want %v", got, want)
			}
		})
	}
}

func TestAMisspeltKeyOfTheComposeFileIsFound(t *testing.T) {
	text := strings.Replace(read(t, composeDir+"/compose.yaml"), "restart:", "restarts:", 1)
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := load(dotEnv(t), file, "single"); err == nil || !strings.Contains(err.Error(), "restarts") {
		t.Errorf("error = %v, want one about restarts", err)
	}
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)(:[-?][^}]*)?\}`)

func TestEverySecretMustBeGiven(t *testing.T) {
	used := map[string]bool{"COMPOSE_PROFILES": true}
	file := filepath.Join(root, composeDir, "compose.yaml")
	for _, m := range variable.FindAllStringSubmatch(read(t, composeDir+"/compose.yaml"), -1) {
		used[m[1]] = true
		secret := strings.Contains(m[1], "PASSWORD")
		if secret != strings.HasPrefix(m[2], ":?") && !strings.HasPrefix(m[1], "MODEL_") {
			t.Errorf("%s: a secret has no default, and only it must be given", m[0])
		}
		if strings.HasPrefix(m[2], ":?") {
			env := dotEnv(t)
			env[m[1]] = ""
			if _, err := load(env, file, "single"); err == nil || !strings.Contains(err.Error(), "set "+m[1]+" in .env") {
				t.Errorf("without %s: %v", m[1], err)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(dotEnv(t))), slices.Sorted(maps.Keys(used)); !slices.Equal(got, want) {
		t.Errorf(".env.example has %v,\ncompose.yaml wants %v", got, want)
	}
	for line := range strings.Lines(read(t, composeDir+"/.env.example")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if value != "" && (strings.HasSuffix(name, "PASSWORD") || strings.HasSuffix(name, "KEY")) {
			t.Errorf(".env.example has a value for %s", name)
		}
	}
}

func TestOnlyLoopbackPortsArePublished(t *testing.T) {
	for name, s := range project(t, "*").Services {
		taken := map[string]bool{}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, p.Published, p.HostIP)
			}
			if taken[p.Published] {
				t.Errorf("%s publishes %s twice", name, p.Published)
			}
			taken[p.Published] = true
		}
	}
}

func TestEveryServiceIsBounded(t *testing.T) {
	for name, s := range project(t, "*").Services {
		if s.MemLimit == 0 || s.CPUS == 0 {
			t.Errorf("%s may take all memory or processors", name)
		}
		if s.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("%s: restart %q", name, s.Restart)
		}
		if !regexp.MustCompile(`:v?[0-9]|^nanoclaw(-sandbox)?:`).MatchString(s.Image) {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		for other, how := range s.DependsOn {
			healthy := how.Condition == types.ServiceConditionHealthy
			if healthy && project(t, "*").Services[other].HealthCheck == nil {
				t.Errorf("%s waits for the health of %s, which is not checked", name, other)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeVolume && v.Source == "" {
				t.Errorf("%s: the volume at %s has no name", name, v.Target)
			}
			// A volume that is new belongs to whom the folder of the image does.
			if _, our := ours(project(t, "*"))[name]; our && !slices.Contains(writable(t), v.Target) {
				t.Errorf("%s cannot write to the volume at %s", name, v.Target)
			}
			if v.Type == types.VolumeTypeBind {
				if _, err := os.Stat(v.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestOurProcessesHaveNoRightsAndTimeToEnd(t *testing.T) {
	for name, s := range ours(project(t, "*")) {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 || s.Privileged || s.User != "" {
			t.Errorf("%s may do more than it must", name)
		}
		image, target, security := plainImage, "nanoclaw", []string{"no-new-privileges:true"}
		if runsCode(s.Command) {
			image, target = codeImage, "sandbox"
			security = append(security, "seccomp=../seccomp/sandbox.json", "systempaths=unconfined", "apparmor=unconfined")
		}
		if !slices.Equal(s.SecurityOpt, security) {
			t.Errorf("%s: security_opt %v, want %v", name, s.SecurityOpt, security)
		}
		if s.Image != image+":dev" || s.Build == nil || s.Build.Target != target {
			t.Errorf("%s runs %s, built from the stage %+v", name, s.Image, s.Build)
		}
		checkMemory(t, name, int64(s.MemLimit), settings(s))
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) <= drainTime(t) {
			t.Errorf("%s: stop_grace_period is not over %s", name, drainTime(t))
		}
		if s.Build == nil || s.Build.Dockerfile != "deploy/Dockerfile" {
			t.Errorf("%s is not built from deploy/Dockerfile", name)
		} else if abs, _ := filepath.Abs(root); filepath.Clean(s.Build.Context) != abs {
			t.Errorf("%s is built in %s", name, s.Build.Context)
		}
		checkTargets(t, s.Command)
	}
}

// settings are the environment of a service.
func settings(s types.ServiceConfig) map[string]string {
	env := map[string]string{}
	for key, value := range s.Environment {
		env[key] = *value
	}
	return env
}

// names are by what a service can be reached.
func names(p *types.Project) map[string][]string {
	out := map[string][]string{}
	for name, s := range p.Services {
		out[name] = append(out[name], name)
		for _, network := range s.Networks {
			if network != nil {
				for _, alias := range network.Aliases {
					if !slices.Contains(out[alias], name) {
						out[alias] = append(out[alias], name)
					}
				}
			}
		}
	}
	return out
}

// meet tells whether two services are on one network.
func meet(a, b types.ServiceConfig) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(a.Networks)), func(name string) bool { _, ok := b.Networks[name]; return ok })
}

func TestAddressesLeadToServices(t *testing.T) {
	for _, profile := range []string{"single", "split"} {
		p := project(t, profile)
		known := names(p)
		for name, s := range ours(p) {
			for key, value := range s.Environment {
				want := ""
				switch {
				case strings.HasPrefix(key, "NANOCLAW_SERVICES_"), key == "NANOCLAW_GRPC_ADVERTISE":
					want = grpcPort
				case key == "NANOCLAW_STORAGE_DSN":
					want = "3306"
				case key == "NANOCLAW_CACHE_URL":
					want = "6379"
				case key == "OTLP_ENDPOINT":
					want = "4317"
				default:
					continue
				}
				host, port := hostPort(t, *value)
				if known[host] == nil || port != want {
					t.Errorf("%s, %s: %s=%s leads to no service at port %s", profile, name, key, *value, want)
				}
				service, callable := strings.CutPrefix(key, "NANOCLAW_SERVICES_")
				if callable && host != strings.ReplaceAll(strings.ToLower(service), "_", "-") {
					t.Errorf("%s: %s is %s", name, key, *value)
				}
				if callable && !slices.Contains(callees[s.Command[1]], host) {
					continue
				}
				for _, other := range known[host] {
					if !meet(s, p.Services[other]) {
						t.Errorf("%s and %s share no network", name, other)
					}
				}
				if key == "NANOCLAW_GRPC_ADVERTISE" && host != name {
					t.Errorf("%s says that it is reached at %s", name, host)
				}
			}
		}
	}
	split := project(t, "split")
	if got := names(split)["orchestrator"]; len(got) != 2 {
		t.Errorf("orchestrator stands for %v, want both", got)
	}
}

func TestTheSplitProcessesShareTheIdentityKey(t *testing.T) {
	p := project(t, "split")
	for name, s := range ours(p) {
		if len(s.Secrets) != 1 || s.Secrets[0].Source != "identity_key" {
			t.Errorf("%s has the secrets %v", name, s.Secrets)
		}
		if path := s.Environment["NANOCLAW_AUTH_SIGNING_KEY_FILE"]; path == nil || *path != "/run/secrets/identity_key" {
			t.Errorf("%s does not sign with the key", name)
		}
	}
	// What each of the two keeps for itself, and what both must see.
	one, two := p.Services["orchestrator-1"], p.Services["orchestrator-2"]
	if a, b := one.Volumes[0], two.Volumes[0]; a.Source == b.Source || a.Target != "/var/lib/nanoclaw" || b.Target != a.Target {
		t.Errorf("the data folders are %s and %s", a.Source, b.Source)
	}
	for _, name := range []string{"orchestrator-1", "orchestrator-2", "task-manager", "fetcher"} {
		s := p.Services[name]
		at := slices.IndexFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool { return v.Source == "blobs" })
		if at < 0 || settings(s)["NANOCLAW_BLOBS_URL"] != s.Volumes[at].Target {
			t.Errorf("%s: stored results and crawled pages are not shared: %v", name, s.Volumes)
		}
	}
}

func TestComposeStartsWithAConfigurationThatHolds(t *testing.T) {
	image := imageEnv(t)
	for _, profile := range []string{"single", "split"} {
		for name, s := range ours(project(t, profile)) {
			t.Run(name, func(t *testing.T) {
				env := maps.Clone(image)
				maps.Copy(env, settings(s))
				files := map[string]string{"/etc/nanoclaw/config.yml": read(t, composeDir+"/config.yml")}
				for _, secret := range s.Secrets {
					files["/run/secrets/"+secret.Source] = signingKey()
				}
				checkConfig(t, env, files)
			})
		}
	}
}
