package execution

import (
	_ "embed" // boot.py
	"regexp"
	"strings"
)

// The languages.
const (
	Python     = "python"
	JavaScript = "javascript"
	Bash       = "bash"
)

//go:embed boot.py
var boot []byte

// filesDir is where the files of a program are in its sandbox.
const filesDir = "/run/nanoclaw/"

// program is how code of a language is run. The code is a file, never a part of
// a command line.
type program struct {
	argv  []string
	files map[string][]byte
}

// newProgram makes the program for code in a known language.
func newProgram(language, code string) program {
	code = strings.TrimPrefix(code, "\uFEFF") // a byte order mark is not of the program
	name := "main.js"
	switch language {
	case Python:
		return program{
			argv:  []string{"python3", "-I", "-S", "-B", filesDir + "boot.py"},
			files: map[string][]byte{"boot.py": boot, "main.py": []byte(code)},
		}
	case Bash:
		return program{
			argv:  []string{"bash", "--noprofile", "--norc", filesDir + "main.sh"},
			files: map[string][]byte{"main.sh": []byte(code)},
		}
	}
	if modulePattern.MatchString(code) {
		name = "main.mjs"
	}
	return program{argv: []string{"node", filesDir + name}, files: map[string][]byte{name: []byte(code)}}
}

// modulePattern finds a line that only an ECMAScript module has. What is taken
// for one by mistake lacks require and says so.
var modulePattern = regexp.MustCompile(`(?m)^\s*(import\s+[\w{*"'].*?["']|export\s+(default|const|let|var|function|class|async|\{)|await\s)`)

// environment is what every program gets. Libraries that would start a thread
// for each CPU of the machine have one: threads count as processes.
var environment = []string{
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"HOME=/tmp",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
	"TZ=UTC",
	"MPLBACKEND=Agg",
	"MPLCONFIGDIR=/tmp/matplotlib",
	"OPENBLAS_NUM_THREADS=1",
	"OMP_NUM_THREADS=1",
	"MKL_NUM_THREADS=1",
	"PYTHONDONTWRITEBYTECODE=1",
	"PYTHONPATH=/workspace",
}
