package config

import (
	"errors"
	"strings"
)

// Locate puts the place where a setting came from, of origins that [Load] has
// filled, before each line of an error that begins with its key. Of a setting
// that is missing this is the place of the section or list that it should be in.
func Locate(err error, origins map[string]string) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		key, _, _ := strings.Cut(line, " ")
		if origin := originOf(strings.TrimSuffix(key, ":"), origins); origin != "" {
			lines[i] = origin + ": " + line
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

func originOf(key string, origins map[string]string) string {
	for key != "" {
		if origin, ok := origins[key]; ok {
			return origin
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return ""
}
