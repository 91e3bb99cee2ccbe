package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// cgroupMount is the cgroup of this process in one hierarchy.
type cgroupMount struct {
	version     int
	dir         string
	controllers []string
}

// ownCgroups finds the cgroups of this process from the two files of /proc that
// tell of them: mountinfo and cgroup.
func ownCgroups(mountinfo, cgroup string) []cgroupMount {
	var found []cgroupMount
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 {
			continue
		}
		m := cgroupMount{}
		root, point := left[3], left[4]
		switch right[0] {
		case "cgroup":
			m.version = 1
			m.controllers = strings.Split(right[2], ",")
		case "cgroup2":
			m.version = 2
		default:
			continue
		}
		m.dir = cgroupDir(root, point, ownPath(cgroup, m))
		if m.version == 2 {
			b, err := os.ReadFile(filepath.Join(m.dir, "cgroup.controllers"))
			if err != nil {
				continue
			}
			m.controllers = append(strings.Fields(string(b)), "cpuacct")
		}
		found = append(found, m)
	}
	return found
}

// ownPath is the path of this process in a hierarchy, seen from its root.
func ownPath(cgroup string, m cgroupMount) string {
	for line := range strings.Lines(cgroup) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if m.version == 2 && parts[0] == "0" ||
			m.version == 1 && parts[1] != "" && slices.Contains(m.controllers, strings.Split(parts[1], ",")[0]) {
			return parts[2]
		}
	}
	return "/"
}

// cgroupDir is the folder of a path in a hierarchy of which root is mounted at
// point. In a container the path may be one of the host that is not visible;
// then what is mounted is the container's own.
func cgroupDir(root, point, path string) string {
	rel, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/"))
	if !ok {
		return point
	}
	dir := filepath.Join(point, rel)
	if _, err := os.Stat(dir); err != nil {
		return point
	}
	return dir
}

// mountOf finds the hierarchy that has a controller: version 1 first, which
// takes its controllers away from version 2. Every hierarchy of version 2
// counts time on processors.
func mountOf(mounts []cgroupMount, controller string) (cgroupMount, bool) {
	for _, version := range []int{1, 2} {
		for _, m := range mounts {
			if m.version == version && slices.Contains(m.controllers, controller) {
				return m, true
			}
		}
	}
	return cgroupMount{}, false
}
