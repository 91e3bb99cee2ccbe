//go:build !linux

package artifact

import "io/fs"

func markOf(info fs.FileInfo) mark {
	return mark{size: info.Size(), modified: info.ModTime().UnixNano()}
}
