package isolate

import "golang.org/x/sys/unix"

const (
	auditArch  = unix.AUDIT_ARCH_AARCH64
	newestCall = unix.SYS_RSEQ_SLICE_YIELD
)

var deniedCallsOfArch []uint32
