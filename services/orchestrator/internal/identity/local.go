package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

// localTokenName is the name of the owner's token for this machine.
const localTokenName = "local"

// LocalToken is the owner's token for people at this machine, kept in a file
// that only the owner of the data folder can read. It is made at the first
// start, and made again when it was revoked.
func (s *Store) LocalToken(ctx context.Context, ownerID, path string) (string, error) {
	stored, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the token for this machine: %w", err)
	}
	if token := strings.TrimSpace(string(stored)); token != "" {
		switch p, err := s.Exchange(ctx, token); {
		case err == nil && p.UserID == ownerID:
			return token, nil
		case err != nil && !errors.Is(err, ErrBadToken):
			return "", err
		}
	}
	token, _, err := s.Create(ctx, auth.UserPrincipal(ownerID, auth.ScopeAll), localTokenName, []string{auth.ScopeAll}, 0)
	if err != nil {
		return "", err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("keep the token for this machine: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("keep the token for this machine in %s: %w", filepath.Base(path), err)
	}
	return token, nil
}
