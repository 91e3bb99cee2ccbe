package rpc

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// CheckTarget says what is wrong with the address of a gRPC server: it is
// host:port, dns:///name:port for all replicas behind a name, or unix:///path. An
// address without a port would be taken for one with the port 443.
func CheckTarget(target string) error {
	scheme, rest, named := strings.Cut(target, "://")
	endpoint := target
	switch {
	case strings.HasPrefix(target, "unix:"), strings.HasPrefix(target, "unix-abstract:"):
		return nil
	case named && (scheme == "http" || scheme == "https"):
		return fmt.Errorf("%q is a web address; give host:port of a gRPC server, without %s://", target, scheme)
	case named && scheme == "dns": // dns://authority/endpoint
		_, endpoint, _ = strings.Cut(rest, "/")
	case named:
		return nil // another resolver's
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not host:port, such as 127.0.0.1:3001", target)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q: the port must be 1 to 65535", target)
	}
	return nil
}
