package auth

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	keyBlockType = "PRIVATE KEY" // PKCS#8, RFC 5958
	// An Ed25519 key in PEM has some 120 bytes.
	maxKeyFileBytes = 16 << 10
	keyFileMode     = 0o600
	// Group-readable is allowed: a mounted Kubernetes secret with fsGroup is.
	forbiddenKeyMode = 0o027
)

// LoadKey reads the deployment's signing key: an Ed25519 private key as PKCS#8
// in PEM, as "openssl genpkey -algorithm ed25519" writes it. A file that others
// can read or change is refused.
func LoadKey(path string) (ed25519.PrivateKey, error) {
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("signing key: %s does not exist: copy it from another process of the deployment, or make it with \"openssl genpkey -algorithm ed25519 -out %[1]s\" and chmod 600: %w", path, fs.ErrNotExist)
	}
	return key, err
}

// LoadOrCreateKey is LoadKey, and makes the key when there is none; created says
// that it did. Of processes that start at once, one makes it and all get it.
// The folder must exist.
func LoadOrCreateKey(path string) (key ed25519.PrivateKey, created bool, err error) {
	key, err = readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	err = createKey(path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, false, fmt.Errorf("signing key: make %s: %w", path, err)
	}
	created = err == nil
	key, err = LoadKey(path)
	return key, created && err == nil, err
}

func readKey(path string) (ed25519.PrivateKey, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w (the process must be allowed to read it)", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("signing key: %s is not a file", path)
	}
	if mode := info.Mode().Perm(); mode&forbiddenKeyMode != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("signing key: %s has mode %04o, so other users can read or change it: run \"chmod 600 %[1]s\", and replace the key if it may have been seen", path, mode)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFileBytes))
	if err != nil {
		return nil, fmt.Errorf("signing key: read %s: %w", path, err)
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("signing key: %s: %w: make one with \"openssl genpkey -algorithm ed25519\"", path, err)
	}
	return key, nil
}

func parseKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("it is not a PEM file")
	}
	if block.Type != keyBlockType {
		return nil, fmt.Errorf("it holds a %q, want a %q (PKCS#8, not encrypted)", block.Type, keyBlockType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its key cannot be read as PKCS#8") // err may quote the key
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("it holds a key of type %T, want Ed25519", parsed)
	}
	return key, nil
}

// createKey writes a new key whole or not at all: a link to a finished file
// appears at once, and fails with fs.ErrExist when another process was faster.
func createKey(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".identity-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if err := errors.Join(tmp.Chmod(keyFileMode), pem.Encode(tmp, &pem.Block{Type: keyBlockType, Bytes: der}), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
