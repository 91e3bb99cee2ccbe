//go:build linux && !amd64 && !arm64

package isolate

import (
	"fmt"
	"runtime"
)

// seccompProgram has no list of system calls for this processor.
func seccompProgram(bool) ([]byte, error) {
	return nil, fmt.Errorf("there is no list of system calls for %s: run on amd64 or arm64", runtime.GOARCH)
}
