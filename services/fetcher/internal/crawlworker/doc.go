// Package crawlworker fetches the pages of crawl tasks. It leases batches of one
// host from the task manager, asks for their addresses as the grant of the batch
// says and in no other way, and commits what came of them in parts, as it comes.
//
// The task manager knows everything; a worker that vanishes loses at most what
// it had not committed. So whatever is not sure is dropped here: a lease that
// ended, a task that was cancelled, an answer that came too late.
package crawlworker
