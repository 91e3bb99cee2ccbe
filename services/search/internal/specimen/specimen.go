// Package specimen keeps answers that no adapter could read, so that an operator
// can see what an engine has changed. What is kept can be read again with
// `nanoclaw inspect results`.
package specimen

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

const (
	// MaxBytes is how much of a body is kept.
	MaxBytes = 64 << 10
	// MaxKept is how many answers of one engine are kept; older ones go.
	MaxKept = 20
)

// Keeper keeps answers in a folder. It is safe for concurrent use, and one
// folder may have several.
type Keeper struct {
	dir     string
	secrets *strings.Replacer
	mu      sync.Mutex
}

// New makes a keeper; the folder is made when there is something to keep. secrets,
// such as the keys of engines, are never kept: some servers repeat what they were
// sent.
func New(dir string, secrets ...string) *Keeper {
	var pairs []string
	for _, s := range secrets {
		for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s)} {
			if s != "" {
				pairs = append(pairs, form, placeholderToken)
			}
		}
	}
	return &Keeper{dir: dir, secrets: strings.NewReplacer(pairs...)}
}

// kept is one line in the form that inspect results reads.
type kept struct {
	ID        string            `json:"id"`
	Provider  string            `json:"provider"`
	Query     string            `json:"query"`
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers"`
	Truncated bool              `json:"truncated"`
	Detail    string            `json:"detail"`
	Body      string            `json:"body"`
}

var name = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// Keep writes an answer down, without what belongs to the person who asked: see
// redact. detail says why it could not be read. It returns the file.
func (k *Keeper) Keep(provider string, r adapter.Response, query, detail string) (string, error) {
	if !name.MatchString(provider) {
		return "", fmt.Errorf("search: keep an answer: %q is no name of a provider", provider)
	}
	body, cut := redact([]byte(k.secrets.Replace(string(r.Body))), query)
	at := r.ReceivedAt.UTC()
	sum := sha256.Sum256(body)
	id := at.Format("20060102T150405.000Z") + "-" + hex.EncodeToString(sum[:4])
	line, err := adapter.JSONBody(kept{
		ID: id, Provider: provider, Query: placeholderQuery, Status: r.Status,
		Headers:   map[string]string{"Content-Type": k.secrets.Replace(r.Header.Get("Content-Type"))},
		Truncated: cut || r.Truncated, Detail: k.secrets.Replace(detail), Body: string(body),
	})
	if err != nil {
		return "", fmt.Errorf("search: keep an answer of %s: %w", provider, err)
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	dir := filepath.Join(k.dir, provider)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("search: keep an answer of %s: %w", provider, err)
	}
	file := filepath.Join(dir, id+".json")
	if err := os.WriteFile(file, append(line, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("search: keep an answer of %s: %w", provider, err)
	}
	return file, tidy(dir)
}

// tidy removes the oldest files beyond MaxKept. Their names begin with the time.
func tidy(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return fmt.Errorf("search: list kept answers: %w", err)
	}
	slices.Sort(files)
	for _, old := range files[:max(len(files)-MaxKept, 0)] {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("search: remove an old kept answer: %w", err)
		}
	}
	return nil
}
