package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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

// stage is one of a Dockerfile: what it stands on, and what is done there.
type stage struct {
	name, base string
	does       []instruction
}

func stages(t testing.TB) []stage {
	t.Helper()
	var out []stage
	for _, in := range dockerfile(t) {
		if in.name == "FROM" {
			base, name, _ := strings.Cut(in.args, " AS ")
			out = append(out, stage{name: name, base: base})
			continue
		}
		if len(out) == 0 {
			t.Fatalf("the Dockerfile begins with %s", in.name)
		}
		last := &out[len(out)-1]
		last.does = append(last.does, in)
	}
	return out
}

// built are the stages that images are made of, by the names of these.
func built(t testing.TB) map[string]stage {
	t.Helper()
	all := map[string]stage{}
	for _, s := range stages(t) {
		all[s.name] = s
	}
	for _, name := range []string{"nanoclaw", "sandbox"} {
		if all[name].base == "" {
			t.Fatalf("the Dockerfile has no stage %s", name)
		}
	}
	return map[string]stage{plainImage: all["nanoclaw"], codeImage: all["sandbox"]}
}

// what are the instructions of a kind, without their names.
func (s stage) what(kind string) []string {
	var out []string
	for _, in := range s.does {
		if in.name == kind {
			out = append(out, in.args)
		}
	}
	return out
}

// installs tells whether an image gets a package of Debian.
func (s stage) installs(name string) bool {
	return slices.ContainsFunc(s.what("RUN"), func(run string) bool {
		return strings.Contains(run, "apt-get install") && slices.Contains(strings.Fields(run), name)
	})
}

// imageEnv is the environment of the images.
func imageEnv(t testing.TB) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, in := range built(t)[plainImage].does {
		switch in.name {
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
	known := []string{"WORKDIR", "COPY", "RUN", "ARG", "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
	before := map[string]bool{}
	for _, s := range stages(t) {
		for _, in := range s.does {
			if !slices.Contains(known, in.name) {
				t.Errorf("instruction %s", in.name)
			}
			switch in.name {
			case "COPY":
				checkCopy(t, in, before)
			case "ENTRYPOINT", "CMD":
				if json.Unmarshal([]byte(in.args), &[]string{}) != nil {
					t.Errorf("%s %s would need a shell, and there is none", in.name, in.args)
				}
			}
		}
		before[s.name] = true
	}
}

// checkCopy says whether what is copied is there: in a stage before, or among
// what Docker is sent.
func checkCopy(t *testing.T, in instruction, before map[string]bool) {
	t.Helper()
	if from := slices.IndexFunc(in.flags, func(f string) bool { return strings.HasPrefix(f, "--from=") }); from >= 0 {
		if name := strings.TrimPrefix(in.flags[from], "--from="); !before[name] {
			t.Errorf("COPY from %s, which is no stage before", name)
		}
		return
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
}

func TestBothImagesRunTheSameBinaryInTheSameWay(t *testing.T) {
	user := strconv.Itoa(nonRoot) + ":" + strconv.Itoa(nonRoot)
	for name, s := range built(t) {
		if got := s.what("USER"); !slices.Equal(got, []string{user}) {
			t.Errorf("%s runs as %q", name, got)
		}
		if got := s.what("EXPOSE"); !slices.Equal(got, []string{strings.Join([]string{httpPort, grpcPort, metricsPort}, " ")}) {
			t.Errorf("%s exposes %s", name, got)
		}
	}
	// All but what is installed before.
	same := func(s stage) []instruction {
		return slices.DeleteFunc(slices.Clone(s.does), func(in instruction) bool { return in.name == "RUN" || in.name == "ARG" })
	}
	plain, code := built(t)[plainImage], built(t)[codeImage]
	if a, b := same(plain), same(code); !reflect.DeepEqual(a, b) {
		t.Errorf("the images differ:\n%v\n%v", a, b)
	}
	if all := stages(t); all[len(all)-1].name != plain.name {
		t.Errorf("without a target %s is built", all[len(all)-1].name)
	}
}

func TestOnlyTheImageForCodeHasMoreThanTheBinary(t *testing.T) {
	plain, code := built(t)[plainImage], built(t)[codeImage]
	if !strings.Contains(plain.base, "distroless/static") || len(plain.what("RUN")) > 0 {
		t.Errorf("the image without code stands on %s and does %v", plain.base, plain.what("RUN"))
	}
	if !strings.HasPrefix(code.base, "debian:12-slim") {
		t.Errorf("the image for code stands on %s", code.base)
	}
	for _, name := range []string{"bubblewrap", "python3", "nodejs", "ca-certificates", "tzdata"} {
		if !code.installs(name) {
			t.Errorf("the image for code has no %s", name)
		}
	}
}

// writable are the folders of the images that belong to their user.
func writable(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, in := range built(t)[plainImage].does {
		if in.name == "COPY" && slices.Contains(in.flags, "--chown="+strconv.Itoa(nonRoot)+":"+strconv.Itoa(nonRoot)) {
			out = append(out, strings.Fields(in.args)[1])
		}
	}
	return out
}

// sent tells whether Docker is sent a path, by the names at the top of
// Dockerfile.dockerignore.
func sent(t *testing.T, path string) bool {
	top, _, _ := strings.Cut(path, "/")
	lines := strings.Split(read(t, "deploy/Dockerfile.dockerignore"), "\n")
	left := slices.ContainsFunc(lines, func(line string) bool { // what it says of folders below
		return line != "" && (path == line || strings.HasPrefix(path, line+"/"))
	})
	return slices.Contains(lines, "!"+top) && !left
}

func TestTheImagesBuildWithTheModulesOfTheWorkspace(t *testing.T) {
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

func TestTheImagesStartWithAConfigurationThatHolds(t *testing.T) {
	checkConfig(t, imageEnv(t), nil)
}
