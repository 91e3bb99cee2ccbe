package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/internal/platform/spelling"
)

// ownTools are the tools of our own services, by name.
var ownTools = []string{
	"cancel_crawl_task", "count_top_k", "crawl_batch", "delete_file", "fetch_page", "list_files", "query_crawl_task",
	"read_document", "read_file", "read_result", "run_code", "run_shell", "web_search", "write_file",
}

// tools looks for names in the configuration that are no tool's, which a server
// warns of at its start: what they should turn on or limit stays as it is. The
// tools of others are known to their providers alone.
func (x *examination) tools(context.Context) []Finding {
	var all []Finding
	for _, list := range []struct {
		key   string
		names []string
	}{
		{"tools.enabled", x.cfg.Tools.Enabled}, {"tools.auto_approve", x.cfg.Tools.AutoApprove},
		{"tools.timeouts", slices.Sorted(maps.Keys(x.cfg.Tools.Timeouts))},
	} {
		for _, name := range list.names {
			if name == "*" || slices.Contains(ownTools, name) || x.foreign(name) {
				continue
			}
			fix := "take it out, or write it as \"nanoclaw tools list\" does"
			if meant := spelling.Nearest(name, ownTools); meant != "" {
				fix = fmt.Sprintf("did you mean %s?", meant)
			}
			all = append(all, warning(fix, "%s names %s, and there is no such tool", list.key, name)...)
		}
	}
	return all
}

// foreign says that a name is one of a provider of others.
func (x *examination) foreign(tool string) bool {
	for _, p := range x.cfg.Providers {
		if strings.HasPrefix(tool, p.Name+"__") {
			return true
		}
	}
	return false
}
