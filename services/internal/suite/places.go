package suite

import (
	"cmp"
	"path/filepath"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/rpc"
)

const (
	identityKeyFile = "identity.key"
	blobFolder      = "blobs"
)

// IdentityKeyFile is where the key is by which the processes of a deployment
// know each other.
func (c Config) IdentityKeyFile() string {
	return cmp.Or(c.Auth.SigningKeyFile, filepath.Join(c.DataDir, identityKeyFile))
}

// BlobLocation is where blobs are kept, as blob.Open takes it.
func (c Config) BlobLocation() string {
	return cmp.Or(c.Blobs.URL, filepath.Join(c.DataDir, blobFolder))
}

// UnreadAnswers is the folder of answers of search engines that could not be
// read, which are kept for the operator.
func (c Config) UnreadAnswers() string { return filepath.Join(c.DataDir, "search", "unread") }

// RPC are the files of TLS as servers and clients take them.
func (c TLSConfig) RPC() rpc.TLSConfig {
	return rpc.TLSConfig{CertFile: c.CertFile, KeyFile: c.KeyFile, ClientCAFile: c.ClientCAFile, CAFile: c.CAFile}
}
