package deploy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// denied are the checks of the Pod Security Standards that a pod does not pass at
// a level, as the newest Kubernetes makes them.
func denied(t *testing.T, w workload, level string) []string {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := api.ParseLevel(level)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(
		api.LevelVersion{Level: at, Version: api.LatestVersion()}, &w.pod.ObjectMeta, &w.pod.Spec))
	if !result.Allowed {
		out = append(out, result.ForbiddenReasons...)
	}
	return out
}

func TestPodsPassTheLevelOfTheirNamespace(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		level := c.namespaces["nanoclaw"].Labels["pod-security.kubernetes.io/enforce"]
		if level != "baseline" {
			t.Errorf("the namespace enforces %q", level)
		}
		for name, w := range c.workloads {
			if got := denied(t, w, level); len(got) > 0 {
				t.Errorf("%s is refused at the level %s: %v", name, level, got)
			}
			// All but /proc of whoever runs code is as the restricted level wants it.
			var want []string
			if runsCode(w.container().Args) {
				want = []string{"procMount"}
			}
			if got := denied(t, w, "restricted"); !slices.Equal(got, want) {
				t.Errorf("%s: the restricted level refuses %v, want %v", name, got, want)
			}
		}
	})
}

func TestPodsThatRunCodeCanMakeSandboxes(t *testing.T) {
	each(t, func(t *testing.T, _ string, c *cluster) {
		for name, w := range c.workloads {
			code, own := runsCode(w.container().Args), w.container().SecurityContext
			ownUsers := w.pod.Spec.HostUsers != nil && !*w.pod.Spec.HostUsers
			unmasked := own.ProcMount != nil && *own.ProcMount == corev1.UnmaskedProcMount
			profile := ""
			if own.SeccompProfile != nil && own.SeccompProfile.Type == corev1.SeccompProfileTypeLocalhost {
				profile = *own.SeccompProfile.LocalhostProfile
			}
			if ownUsers != code || unmasked != code || (profile == "nanoclaw/sandbox.json") != code {
				t.Errorf("%s, which runs code: %t, has users of its own: %t, all of /proc: %t, the seccomp profile %q", name, code, ownUsers, unmasked, profile)
			}
			env := environment(t, c, w)
			if poll := env["NANOCLAW_SANDBOX_MEMORY_POLL"] == "true"; poll != code {
				t.Errorf("%s, which runs code: %t, measures memory: %t", name, code, poll)
			}
		}
	})
}

func TestThePodThatRunsCodeHoldsNoSecretButTheKey(t *testing.T) {
	w := render(t, "split").workloads["sandbox"]
	for _, e := range w.container().Env {
		if e.ValueFrom != nil {
			t.Errorf("%s comes from %v", e.Name, e.ValueFrom)
		}
	}
	for _, v := range w.pod.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName != "nanoclaw-identity" {
			t.Errorf("it mounts the secret %s", v.Secret.SecretName)
		}
	}
}

// edited renders an overlay in whose kustomization one line is another.
func edited(t *testing.T, overlay, line, other string) *cluster {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, kustomizeDir))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("overlays", overlay, "kustomization.yaml")
	text := read(t, filepath.Join(kustomizeDir, file))
	if strings.Count(text, line+"\n") != 1 {
		t.Fatalf("%s has not one line %q", file, line)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(text, line+"\n", other, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return renderDir(t, filepath.Join(dir, "overlays", overlay))
}

const sandboxComponent = "  - ../../components/sandbox"

func TestWithoutItsComponentTheOtherImageRunsAndTheNamespaceIsRestricted(t *testing.T) {
	for overlay := range overlays {
		c := edited(t, overlay, sandboxComponent, "")
		if got := c.namespaces["nanoclaw"].Labels["pod-security.kubernetes.io/enforce"]; got != "restricted" {
			t.Errorf("the namespace enforces %q", got)
		}
		for name, w := range c.workloads {
			if got := denied(t, w, "restricted"); len(got) > 0 || w.container().Image != "registry.example.com/"+plainImage+":dev" {
				t.Errorf("%s runs %s and is refused for %v", name, w.container().Image, got)
			}
		}
	}
}

func TestTheAppArmorProfileIsForWhoRunsCode(t *testing.T) {
	if text := read(t, "deploy/apparmor/nanoclaw-sandbox"); !strings.Contains(text, "\nprofile nanoclaw-sandbox flags=(attach_disconnected,mediate_deleted) {\n") {
		t.Error("the profile has another name")
	}
	for overlay := range overlays {
		c := edited(t, overlay, sandboxComponent, sandboxComponent+"\n  - ../../components/apparmor\n")
		for name, w := range c.workloads {
			profile := ""
			if p := w.container().SecurityContext.AppArmorProfile; p != nil && p.Type == corev1.AppArmorProfileTypeLocalhost {
				profile = *p.LocalhostProfile
			}
			if want := map[bool]string{true: "nanoclaw-sandbox"}[runsCode(w.container().Args)]; profile != want {
				t.Errorf("%s has the AppArmor profile %q, want %q", name, profile, want)
			}
			if got := denied(t, w, "baseline"); len(got) > 0 {
				t.Errorf("%s is refused: %v", name, got)
			}
		}
	}
}
