package workspace

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpcerr"
)

const (
	// maxNameBytes is the longest name that file systems take.
	maxNameBytes = 255
	// maxDepth is how many names a path may have.
	maxDepth = 64
)

// validID is what a workspace may be called, as in the contract.
var validID = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`)

// location is a checked path: names that lead from the workspace to an entry.
// None are the workspace itself.
type location []string

func (l location) String() string   { return strings.Join(l, "/") }
func (l location) folder() location { return l[:len(l)-1] }
func (l location) name() string     { return l[len(l)-1] }

// locateFolder is locate for a path that may be empty: the workspace itself.
func locateFolder(path string) (location, error) {
	if path == "" {
		return nil, nil
	}
	return locate(path)
}

// locate checks a path as a caller wrote it. It changes nothing in it: a path
// that could be read in two ways is refused.
func locate(path string) (location, error) {
	words := ""
	names := strings.Split(path, "/")
	switch {
	case path == "":
		words = "must not be empty"
	case strings.ContainsRune(path, 0):
		words = "must not hold the character U+0000"
	case !utf8.ValidString(path):
		words = "must be UTF-8"
	case strings.Contains(path, `\`):
		words = `must have / between names, and no \`
	case strings.HasPrefix(path, "/"):
		words = "must be relative to the workspace, without / at its beginning"
	case strings.HasSuffix(path, "/"):
		words = "must not end in /"
	case len(names) > maxDepth:
		words = "must not have more than 64 names"
	default:
		words = faultOf(names)
	}
	if words != "" {
		return nil, rpcerr.InvalidArgument("path", words)
	}
	return names, nil
}

// faultOf says what is wrong with one of the names; nothing when all are good.
func faultOf(names []string) string {
	for _, name := range names {
		switch {
		case name == "":
			return "must not have two / in a row"
		case isDots(name):
			return "must not have . or .. between its names"
		case len(name) > maxNameBytes:
			return "must not have a name of more than 255 bytes"
		}
	}
	return ""
}

// isDots finds . and .., also as an address would write them: whoever decodes a
// path once too often must not get one.
func isDots(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "%2e", ".")
	return name == "." || name == ".."
}
