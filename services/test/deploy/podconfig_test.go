package deploy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// secrets are what an operator makes, by name and key, with a value such as it
// may have. deploy/README.md says how.
var secrets = map[string]map[string]string{
	"nanoclaw": {
		"model-api-key":        "a-key",
		"mysql-dsn":            "nanoclaw:pw@tcp(mysql.db:3306)/",
		"redis-url":            "redis://:pw@redis.cache:6379/0",
		"s3-access-key-id":     "an-id",
		"s3-secret-access-key": "a-secret",
	},
	"nanoclaw-identity": {"identity.key": signingKey()},
}

// environment is what a container sees, as the kubelet makes it.
func environment(t *testing.T, c *cluster, w workload) map[string]string {
	t.Helper()
	env := maps.Clone(imageEnv(t))
	for _, e := range w.container().Env {
		value := e.Value
		switch from := e.ValueFrom; {
		case from == nil:
			value = regexp.MustCompile(`\$\((\w+)\)`).ReplaceAllStringFunc(value, func(ref string) string {
				before, ok := env[strings.Trim(ref, "$()")]
				if !ok {
					t.Errorf("%s: %s refers to %s, which is not set before it", w.name, e.Name, ref)
				}
				return before
			})
		case from.SecretKeyRef != nil:
			var ok bool
			if value, ok = secrets[from.SecretKeyRef.Name][from.SecretKeyRef.Key]; !ok {
				t.Errorf("%s: %s is the key %s of the secret %s, which nobody makes", w.name, e.Name, from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			}
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			value = "10.1.2.3"
		default:
			t.Errorf("%s: no check knows where %s comes from", w.name, e.Name)
		}
		env[e.Name] = value
	}
	return env
}

// files are what is mounted into a container, by path.
func files(t *testing.T, c *cluster, w workload) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, mount := range w.container().VolumeMounts {
		at := slices.IndexFunc(w.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if at < 0 {
			if !slices.ContainsFunc(w.claims, func(p corev1.PersistentVolumeClaim) bool { return p.Name == mount.Name }) {
				t.Errorf("%s mounts %s, which is no volume", w.name, mount.Name)
			}
			continue
		}
		switch v := w.pod.Spec.Volumes[at]; {
		case v.ConfigMap != nil:
			m, ok := c.configMaps[v.ConfigMap.Name]
			if !ok {
				t.Errorf("%s mounts the ConfigMap %s, which is not there", w.name, v.ConfigMap.Name)
			}
			for key, content := range m.Data {
				out[mount.MountPath+"/"+key] = content
			}
		case v.Secret != nil:
			if secrets[v.Secret.SecretName] == nil {
				t.Errorf("%s mounts the secret %s, which nobody makes", w.name, v.Secret.SecretName)
			}
			if mode := v.Secret.DefaultMode; mode == nil || *mode != 0o440 {
				t.Errorf("%s: the secret %s has the mode %v: the process refuses keys that others may read", w.name, v.Secret.SecretName, mode)
			}
			for key, content := range secrets[v.Secret.SecretName] {
				out[mount.MountPath+"/"+key] = content
			}
		case v.EmptyDir != nil:
			if v.EmptyDir.SizeLimit == nil {
				t.Errorf("%s: %s may fill the node", w.name, v.Name)
			}
		default:
			t.Errorf("%s: no check knows the volume %s", w.name, v.Name)
		}
	}
	return out
}

func TestPodsStartWithAConfigurationThatHolds(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		for name, w := range c.workloads {
			t.Run(name, func(t *testing.T) { checkConfig(t, environment(t, c, w), files(t, c, w)) })
		}
	})
}

// podConfig is what of config.yml the cluster must fit to.
type podConfig struct {
	Services map[string]string
	Auth     struct {
		SigningKeyFile string `json:"signing_key_file"`
	}
	Telemetry struct {
		OTLPEndpoint string `json:"otlp_endpoint"`
	}
}

func TestPodsFindEachOther(t *testing.T) {
	each(t, func(t *testing.T, overlay string, c *cluster) {
		for name, w := range c.workloads {
			mounted := files(t, c, w)
			env := environment(t, c, w)
			var cfg podConfig
			if err := yaml.Unmarshal([]byte(mounted[env["NANOCLAW_CONFIG"]]), &cfg); err != nil || cfg.Telemetry.OTLPEndpoint == "" {
				t.Errorf("%s: no configuration at %s: %v", name, env["NANOCLAW_CONFIG"], err)
			}
			for service, address := range cfg.Services {
				host, port := hostPort(t, address)
				if host != strings.ReplaceAll(service, "_", "-") || port != grpcPort || c.services[host].Name == "" || !strings.HasPrefix(address, "dns:///") {
					t.Errorf("%s finds %s at %s", name, service, address)
				}
			}
			if overlay == "single" {
				continue
			}
			if len(cfg.Services) != len(targets)-1 {
				t.Errorf("%s knows %v", name, cfg.Services)
			}
			if _, ok := mounted[cfg.Auth.SigningKeyFile]; !ok {
				t.Errorf("%s: no key is mounted at %q", name, cfg.Auth.SigningKeyFile)
			}
		}
	})
	orchestrator := render(t, "split").workloads["orchestrator"]
	if got := environment(t, nil, orchestrator)["NANOCLAW_GRPC_ADVERTISE"]; got != "10.1.2.3:"+grpcPort {
		t.Errorf("a replica says that it is reached at %q", got)
	}
}

func TestWhoWritesCrawledPagesAndWhoReadsThemShareABucket(t *testing.T) {
	c := render(t, "split")
	shared := environment(t, c, c.workloads["orchestrator"])["NANOCLAW_BLOBS_URL"]
	for name, w := range c.workloads {
		url := environment(t, c, w)["NANOCLAW_BLOBS_URL"]
		if uses := slices.Contains([]string{"orchestrator", "fetcher", "task-manager"}, name); (url == shared && url != "") != uses {
			t.Errorf("%s keeps its blobs at %q", name, url)
		}
		if reaches := w.pod.Labels["nanoclaw/bucket"] == "yes"; reaches != (url != "") {
			t.Errorf("%s reaches the bucket: %t", name, reaches)
		}
	}
}
