package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheReadmeTellsHowToMakeEverySecret(t *testing.T) {
	text := read(t, "deploy/README.md")
	for name, keys := range secrets {
		if !strings.Contains(text, "create secret generic "+name+" ") {
			t.Errorf("the secret %s is not made", name)
		}
		for key := range keys {
			if !strings.Contains(text, "="+key+"=") {
				t.Errorf("the key %s is not given", key)
			}
		}
	}
	for name := range dotEnv(t) {
		if strings.HasSuffix(name, "_PASSWORD") && !regexp.MustCompile(`for name in .*\b`+name+`\b`).MatchString(text) {
			t.Errorf("%s of .env is not filled in", name)
		}
	}
}

func TestTheReadmeNamesWhatIsThere(t *testing.T) {
	text := read(t, "deploy/README.md")
	for _, m := range regexp.MustCompile("(?:^|[ `])(deploy/[\\w/.-]+)|\\| `([\\w/.-]+)`").FindAllStringSubmatch(text, -1) {
		path := m[1]
		if path == "" {
			path = "deploy/" + m[2]
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	for overlay := range overlays {
		if !strings.Contains(text, "kubectl apply -k "+kustomizeDir+"/overlays/"+overlay) {
			t.Errorf("the overlay %s is not applied", overlay)
		}
	}
	for name, s := range project(t, "*").Services {
		for _, p := range s.Ports {
			told := strings.Contains(text, "127.0.0.1:"+p.Published) || strings.Contains(text, "port "+p.Published)
			if !told && p.Published != "4317" {
				t.Errorf("port %s of %s is not told", p.Published, name)
			}
		}
	}
}

func TestTheReadmeTellsWhatCodeNeeds(t *testing.T) {
	text := read(t, "deploy/README.md")
	profile := *render(t, "split").workloads["sandbox"].container().SecurityContext.SeccompProfile.LocalhostProfile
	for _, told := range []string{
		"deploy/seccomp/sandbox.json /var/lib/kubelet/seccomp/" + profile,
		"install -m 644 deploy/apparmor/nanoclaw-sandbox /etc/apparmor.d/",
		"kernel.apparmor_restrict_unprivileged_userns",
		"../../components/sandbox", "../../components/apparmor",
		"SANDBOX_APPARMOR=", "SANDBOX_PACKAGES=",
	} {
		if !strings.Contains(text, told) {
			t.Errorf("it does not tell %s", told)
		}
	}
}
