package auth_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
)

func TestKeyIsMadeOnceAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.key")
	if _, err := auth.LoadKey(path); err == nil || !strings.Contains(err.Error(), "openssl genpkey") || !strings.Contains(err.Error(), path) {
		t.Errorf("LoadKey without a file = %v, want the path and how to make it", err)
	}
	first, created, err := auth.LoadOrCreateKey(path)
	if err != nil || !created {
		t.Fatalf("LoadOrCreateKey = created %v, %v", created, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want 0600", info.Mode(), err)
	}
	again, created, err := auth.LoadOrCreateKey(path)
	if err != nil || created || !again.Equal(first) {
		t.Errorf("the second time: created %v, same %v, %v", created, again.Equal(first), err)
	}
	if read, err := auth.LoadKey(path); err != nil || !read.Equal(first) {
		t.Errorf("LoadKey: same %v, %v", read.Equal(first), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v; want the key alone", left, err)
	}
}

func TestProcessesThatStartAtOnceGetOneKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.key")
	var keys [16]ed25519.PrivateKey
	var made [16]bool
	var starting sync.WaitGroup
	for i := range keys {
		starting.Go(func() {
			var err error
			if keys[i], made[i], err = auth.LoadOrCreateKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	starting.Wait()
	creators := 0
	for i, key := range keys {
		if made[i] {
			creators++
		}
		if !key.Equal(keys[0]) {
			t.Errorf("process %d has another key", i)
		}
	}
	if creators != 1 {
		t.Errorf("%d processes made it, want 1", creators)
	}
}

func TestKeyFilesThatAreRefused(t *testing.T) {
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := pkcs8(keyFrom('a'))
	for _, tc := range []struct {
		name string
		text []byte
		mode os.FileMode
		want string // empty: taken
	}{
		{"for the owner alone", good, 0o600, ""},
		{"read-only", good, 0o400, ""},
		{"readable for the group, as a mounted secret is", good, 0o440, ""},
		{"readable for all", good, 0o644, "chmod 600"},
		{"writable for the group", good, 0o620, "chmod 600"},
		{"empty", nil, 0o600, "not a PEM file"},
		{"no PEM", []byte("secret"), 0o600, "not a PEM file"},
		{"an encrypted key", pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), 0o600, "not encrypted"},
		{"a public key", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}), 0o600, `want a "PRIVATE KEY"`},
		{"rubbish inside", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("rubbish")}), 0o600, "PKCS#8"},
		{"a key of another kind", pkcs8(ec), 0o600, "want Ed25519"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "identity.key")
			if err := os.WriteFile(path, tc.text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, tc.mode); err != nil {
				t.Fatal(err)
			}
			for name, load := range map[string]func() (ed25519.PrivateKey, error){
				"LoadKey": func() (ed25519.PrivateKey, error) { return auth.LoadKey(path) },
				"LoadOrCreateKey": func() (ed25519.PrivateKey, error) {
					key, created, err := auth.LoadOrCreateKey(path)
					if created {
						t.Error("an existing file was replaced")
					}
					return key, err
				},
			} {
				key, err := load()
				if tc.want == "" {
					if err != nil || !key.Equal(keyFrom('a')) {
						t.Errorf("%s = %v", name, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) || key != nil {
					t.Errorf("%s = %v, want %q and the path", name, err, tc.want)
				}
			}
		})
	}
	if _, err := auth.LoadKey(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
	if _, _, err := auth.LoadOrCreateKey(filepath.Join(t.TempDir(), "no", "such", "folder", "identity.key")); err == nil {
		t.Error("made a key in a folder that does not exist")
	}
}
