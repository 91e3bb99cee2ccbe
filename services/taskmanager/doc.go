// Package taskmanager keeps crawl tasks: batches of pages that are fetched
// without anybody waiting. The database is the truth; crawl workers lease the
// work over gRPC and commit what they made of it, so that a kill at any moment
// loses nothing and records nothing twice.
package taskmanager
