// Package sandbox runs code in isolation and keeps the files that it works on.
// Each program has a sandbox of its own, which is gone when the program has
// ended. Where the isolation that is asked for cannot be had, nothing runs.
package sandbox
