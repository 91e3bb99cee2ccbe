package artifact

import (
	"io/fs"
	"syscall"
)

// markOf has the time of the last change of the inode too, which no program can
// set back.
func markOf(info fs.FileInfo) mark {
	m := mark{size: info.Size(), modified: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		m.inode, m.changed = int64(st.Ino), st.Ctim.Nano()
	}
	return m
}
