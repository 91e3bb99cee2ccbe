package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/nanoclaw/nanoclaw/services/sandbox"
)

// sandbox runs small programs in sandboxes and tells what these hold. Where
// models are allowed to run code, a sandbox that is missing is a failure; else
// only "nanoclaw run" misses it.
func (x *examination) sandbox(ctx context.Context) []Finding {
	if at := x.cfg.Services.Sandbox; at != "" {
		return info("programs run at %s; \"nanoclaw sandbox check\" asks there", at)
	}
	found, err := sandbox.Probe(ctx, x.cfg.Sandbox, x.singleUser())
	if err != nil {
		return failed("correct sandbox.require", "%v", err)
	}
	level := Warning
	if x.runsCode() {
		level = Failed
	}
	var all []Finding
	for _, check := range found.GetChecks() {
		switch {
		case check.GetOk():
		case check.GetRequired():
			all = append(all, Finding{Level: level, Message: "no program can be run: " + check.GetName() + ": " + check.GetDetail(), Fix: check.GetFix()})
		case found.GetAvailable() && slices.Contains(languages, check.GetName()):
			all = append(all, Finding{Level: Info, Message: check.GetDetail(), Fix: check.GetFix()})
		}
	}
	if found.GetAvailable() {
		there := slices.DeleteFunc(slices.Clone(languages), func(l string) bool { return found.GetLanguages()[l] == "" })
		held := ok("%s %s holds; it runs %s", found.GetDriver(), found.GetDriverVersion(), strings.Join(there, ", "))
		return append(held, all...)
	}
	return all
}

// roots are the folders of this machine that programs may read.
func (x *examination) roots(context.Context) []Finding {
	if len(x.cfg.Sandbox.Roots) == 0 || x.cfg.Services.Sandbox != "" {
		return nil
	}
	var all []Finding
	for i, root := range x.cfg.Sandbox.Roots {
		fix := fmt.Sprintf("correct sandbox.roots[%d].path, or make that folder readable for this user", i)
		info, err := os.Stat(root.Path)
		if err == nil && info.IsDir() {
			err = unix.Access(root.Path, unix.R_OK|unix.X_OK)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			all = append(all, failed(fix, "%s is not there", root.Path)...)
		case err != nil:
			all = append(all, failed(fix, "%s cannot be read: %v", root.Path, err)...)
		case !info.IsDir():
			all = append(all, failed(fix, "%s is not a folder", root.Path)...)
		default:
			all = append(all, ok("programs and file tools may read %s", root.Path)...)
		}
	}
	return all
}

// languages of programs, as the contract names them.
var languages = []string{"python", "javascript", "bash"}

// runsCode says that a tool which runs code is enabled.
func (x *examination) runsCode() bool {
	return slices.ContainsFunc(x.cfg.Tools.Enabled, func(tool string) bool {
		return tool == "*" || tool == "run_code" || tool == "run_shell"
	})
}

// singleUser says that only people at this machine could call a server here.
func (x *examination) singleUser() bool {
	for _, addr := range []string{x.cfg.GRPC.Addr, x.cfg.HTTP.Addr} {
		if host, _, err := net.SplitHostPort(addr); err != nil || !isLoopback(host) {
			return false
		}
	}
	return true
}
