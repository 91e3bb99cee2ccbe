// Package orchestrator is the service that answers: it keeps identity,
// conversations and durable runs, calls models, and decides on every tool call
// that a model proposes.
//
// How a message is answered:
//
//	api ──► engine ──► provider (the model)
//	          │  ├──► gate ──► dispatch ──► a ToolProvider
//	          │  └──► run (rows, lease, events) ──► SQL
//	          └──► live (what is being written) ──► watch ──► readers
//
// A run does not need whoever asked: it is leased to this process, every step is
// committed before the next is taken, and a process that takes it over goes on
// from what is stored.
package orchestrator
