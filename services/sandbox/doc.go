// Package sandbox runs code in isolation and keeps the files that it works on.
// Each program has a sandbox of its own, which is gone when the program has
// ended. Where the isolation that is asked for cannot be had, nothing runs.
//
// The way of a program: the service looks whether the machine can run it,
// admission gives it a turn, execution makes the code a file and gives it its
// workspace, isolate runs it under limits and kills what is left of it, output
// keeps what it wrote, artifact finds the files that it made or changed. One
// program at a time runs in a workspace. An execution with an effect key
// outlives its caller and is remembered: a second request with the key follows
// the first or gets its stored end, and what ran when the process died is lost
// and is not run again.
//
// The same is offered over gRPC (SandboxService) and to models (the tools
// run_code and run_shell). Workspaces are served by WorkspaceService, and to
// models by the tools of package filetool, which work on the same files.
package sandbox
