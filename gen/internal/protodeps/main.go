// Command protodeps prints the .proto files that our contracts import from the
// descriptors linked into the Go modules that gen depends on anyway, so that
// buf needs neither a schema registry nor copies in this repository.
//
// Usage: protodeps DIR
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/api/httpbody"
	_ "google.golang.org/genproto/googleapis/api/visibility"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/status"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: protodeps DIR")
		os.Exit(2)
	}
	if err := printAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "protodeps:", err)
		os.Exit(1)
	}
}

// printAll writes every linked file but the well-known types, which buf has
// inside, below dir.
func printAll(dir string) error {
	var printer protoprint.Printer
	var failed error
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(fd.Path(), "google/protobuf/") {
			return true
		}
		failed = write(&printer, fd, filepath.Join(dir, filepath.FromSlash(fd.Path())))
		return failed == nil
	})
	return failed
}

func write(printer *protoprint.Printer, fd protoreflect.FileDescriptor, path string) error {
	text, err := printer.PrintProtoToString(fd)
	if err != nil {
		return fmt.Errorf("print %s: %w", fd.Path(), err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
