package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, with continued lines joined.
type instruction struct {
	name  string
	flags []string // --from=build
	args  string
}

func dockerfile(t testing.TB) []instruction {
	t.Helper()
	var out []instruction
	var line string
	for raw := range strings.Lines(read(t, "deploy/Dockerfile")) {
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		if rest, more := strings.CutSuffix(raw, `\`); more {
			line += rest + " "
			continue
		}
		name, args, _ := strings.Cut(line+raw, " ")
		in := instruction{name: name, args: strings.TrimSpace(args)}
		for strings.HasPrefix(in.args, "--") {
			flag, rest, _ := strings.Cut(in.args, " ")
			in.flags, in.args = append(in.flags, flag), strings.TrimSpace(rest)
		}
		out, line = append(out, in), ""
	}
	if line != "" {
		t.Fatalf("the Dockerfile ends in the middle of %q", line)
	}
	return out
}

// imageEnv is the environment of the image.
func imageEnv(t testing.TB) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, in := range dockerfile(t) {
		switch in.name {
		case "FROM":
			clear(env)
		case "ENV":
			for _, pair := range strings.Fields(in.args) {
				name, value, ok := strings.Cut(pair, "=")
				if !ok {
					t.Errorf("ENV %s", in.args)
				}
				env[name] = value
			}
		}
	}
	return env
}

func TestTheDockerfileMakesSense(t *testing.T) {
	known := []string{"FROM", "WORKDIR", "COPY", "RUN", "ARG", "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
	stages := map[string]bool{}
	last := map[string]string{}
	for i, in := range dockerfile(t) {
		switch {
		case !slices.Contains(known, in.name):
			t.Errorf("instruction %s", in.name)
		case i == 0 && in.name != "FROM":
			t.Errorf("it begins with %s", in.name)
		}
		last[in.name] = in.args
		switch in.name {
		case "FROM":
			fields := strings.Fields(in.args)
			if len(fields) == 3 && fields[1] == "AS" {
				stages[fields[2]] = true
			}
			clear(last)
			last["FROM"] = in.args
		case "COPY":
			from := slices.IndexFunc(in.flags, func(f string) bool { return strings.HasPrefix(f, "--from=") })
			if from >= 0 {
				if stage := strings.TrimPrefix(in.flags[from], "--from="); !stages[stage] {
					t.Errorf("COPY from %s, which is no stage before", stage)
				}
				continue
			}
			paths := strings.Fields(in.args)
			for _, path := range paths[:len(paths)-1] {
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("COPY: %v", err)
				}
				if !sent(t, path) {
					t.Errorf("COPY %s: .dockerignore leaves it out", path)
				}
			}
		case "ENTRYPOINT", "CMD":
			if json.Unmarshal([]byte(in.args), &[]string{}) != nil {
				t.Errorf("%s %s would need a shell, and there is none", in.name, in.args)
			}
		}
	}
	if want := strconv.Itoa(nonRoot); last["USER"] != want+":"+want {
		t.Errorf("the image runs as %q", last["USER"])
	}
	if last["EXPOSE"] != strings.Join([]string{httpPort, grpcPort, metricsPort}, " ") {
		t.Errorf("the image exposes %s", last["EXPOSE"])
	}
	if !strings.Contains(last["FROM"], "distroless/static") {
		t.Errorf("the image stands on %s", last["FROM"])
	}
}

// sent tells whether Docker is sent a path, by the names at the top of
// Dockerfile.dockerignore.
func sent(t *testing.T, path string) bool {
	top, _, _ := strings.Cut(path, "/")
	return slices.Contains(strings.Split(read(t, "deploy/Dockerfile.dockerignore"), "\n"), "!"+top)
}

func TestTheImageBuildsWithTheModulesOfTheWorkspace(t *testing.T) {
	text := read(t, "deploy/Dockerfile")
	work := read(t, "go.work")
	for _, m := range regexp.MustCompile(`(?m)^\t\./(\S+)$`).FindAllStringSubmatch(work, -1) {
		if top, _, _ := strings.Cut(m[1], "/"); !strings.Contains(text, "COPY "+top+" "+top+"\n") {
			t.Errorf("the Dockerfile does not copy %s", m[1])
		}
	}
	image := regexp.MustCompile(`FROM golang:(\d+\.\d+) `).FindStringSubmatch(text)
	needed := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(work)
	if image == nil || needed == nil || image[1] != needed[1] {
		t.Errorf("the image is built with Go %v, the workspace wants %v", image, needed)
	}
}

func TestTheImageStartsWithAConfigurationThatHolds(t *testing.T) {
	checkConfig(t, imageEnv(t), nil)
}
