package adaptertest

import (
	"strconv"
	"strings"
)

// at is what stands at the end of a way, nil when the way ends before.
func at(v any, way string) any {
	for name := range strings.SplitSeq(way, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

func parent(v any, way string) (any, string) {
	if i := strings.LastIndexByte(way, '.'); i >= 0 {
		return at(v, way[:i]), way[i+1:]
	}
	return v, way
}

func set(v any, way string, value any) {
	switch in, name := parent(v, way); in := in.(type) {
	case map[string]any:
		in[name] = value
	case []any:
		if i, err := strconv.Atoi(name); err == nil {
			in[i] = value
		}
	}
}

// remove takes a name away; an item of a list becomes null.
func remove(v any, way string) {
	if in, name := parent(v, way); in != nil {
		if object, ok := in.(map[string]any); ok {
			delete(object, name)
			return
		}
	}
	set(v, way, nil)
}
