// Package taskmanager keeps crawl tasks: batches of pages that are fetched
// without anybody waiting. The database is the truth; crawl workers lease the
// work over gRPC and commit what they made of it, so that a kill at any moment
// loses nothing and records nothing twice.
//
// The way of an address: it is stored with its task (internal/task) under a key
// that all its spellings share (internal/urlkey); the dispatcher
// (internal/dispatch) has robots.txt asked for and waits until its host may be
// asked (internal/host), chooses it fairly (internal/board), and leases it to a
// worker (internal/frontier); what the worker commits closes it
// (internal/ledger), which moves result, counters and event log at once; who
// watches is told (internal/watch).
package taskmanager
