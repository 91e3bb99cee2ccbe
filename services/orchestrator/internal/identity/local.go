package identity

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/uptrace/bun"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/schema"
)

const (
	// localTokenName begins the name of the owner's token for a machine. There
	// is one of a name: making it anew revokes the one before.
	localTokenName = "local.token"
	// private is the mode of the file that holds it.
	private fs.FileMode = 0o600
)

// LocalToken is the owner's token for people at this machine, kept in a file
// that only the owner of the data folder can read. It is made at the first
// start. Removing the file, or revoking the token, makes the next start make a
// new one and revoke the old.
func (s *Store) LocalToken(ctx context.Context, ownerID, path string) (string, error) {
	stored, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the token for this machine: %w", err)
	}
	if token := strings.TrimSpace(string(stored)); token != "" {
		switch p, err := s.Exchange(ctx, token); {
		case err == nil && p.UserID == ownerID && p.Has(auth.ScopeAll):
			if err := os.Chmod(path, private); err != nil {
				return "", fmt.Errorf("close the token for this machine to others: %w", err)
			}
			return token, nil
		case err != nil && !errors.Is(err, ErrBadToken):
			return "", err
		}
	}
	name := localName(path)
	token, t := s.make(ownerID, name, []string{auth.ScopeAll})
	err = s.DB.Write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewDelete().Model((*schema.Token)(nil)).Where("user_id = ? AND name = ?", ownerID, name).Exec(ctx)
		if err != nil {
			return err
		}
		_, err = tx.NewInsert().Model(&t).Exec(ctx)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("store the token for this machine: %w", err)
	}
	if err := replaceFile(path, token+"\n"); err != nil {
		return "", fmt.Errorf("keep the token for this machine in %s: %w", path, err)
	}
	return token, nil
}

// localName is the name of the token in the file: replicas that share a database
// have a token for each of their machines.
func localName(path string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	return localTokenName + " of " + hash(host + ":" + path)[:12]
}

// replaceFile puts a text into a private file at once: whoever reads it meets
// the old text or the new.
func replaceFile(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // private from the start
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
