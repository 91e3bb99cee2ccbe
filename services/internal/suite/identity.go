package suite

import (
	"crypto/ed25519"
	"fmt"
	"os"

	"google.golang.org/grpc"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/auth"
	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

const dataFolderMode = 0o700

// loadKey reads the key by which the processes of the deployment know each
// other.
func (s *Suite) loadKey() (ed25519.PrivateKey, error) {
	if file := s.cfg.Auth.SigningKeyFile; file != "" {
		return auth.LoadKey(file)
	}
	if err := os.MkdirAll(s.cfg.DataDir, dataFolderMode); err != nil {
		return nil, fmt.Errorf("create data folder %s: %w", s.cfg.DataDir, err)
	}
	key, _, err := auth.LoadOrCreateKey(s.cfg.IdentityKeyFile())
	return key, err
}

// dial connects one service to another in another process: calls are signed.
func (s *Suite) dial(from, to, address string) (*grpc.ClientConn, error) {
	signer, err := auth.NewSigner(s.key, from)
	if err != nil {
		return nil, err
	}
	return rpc.Dial(address, rpc.DialConfig{Signer: signer, Audience: to, TLS: s.cfg.TLS.RPC(), Logger: s.log})
}

// reach is the connection from one service to another, wherever that is.
func (s *Suite) reach(from, to string) (grpc.ClientConnInterface, error) {
	if s.local[to] {
		return s.inside, nil
	}
	address := s.cfg.Services.of(to)
	if address == "" && optional[to] {
		return absent(to), nil
	}
	if address == "" {
		return nil, fmt.Errorf("%s needs %s: serve it too, or set services.%s to its address", from, to, Setting(to))
	}
	conn, err := s.dial(from, to, address)
	if err != nil {
		return nil, fmt.Errorf("services.%s: %w", Setting(to), err)
	}
	s.closing(conn.Close)
	return conn, nil
}
