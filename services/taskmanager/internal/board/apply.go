package board

import (
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/frontier"
	"github.com/nanoclaw/nanoclaw/services/taskmanager/internal/schema"
)

// Leased shows a lease that this replica has made.
func (b *Board) Leased(c Candidate, l frontier.Leased) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(c.Host)
	h.reserved = false
	b.touch(h, l.Host)
	h.leaseTask, h.parallel = l.Task.ID, l.Lease.Parallel
	if t := b.tasks[l.Task.ID]; t != nil {
		changes := 0
		if l.Saved {
			changes = 1
		}
		b.adopt(t, l.Task, changes)
	}
	b.signal()
}

// Committed shows what a part did.
func (b *Board) Committed(c frontier.Committed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Host.Host != "" {
		b.touch(b.host(c.Host.Host), c.Host)
		defer b.tidy(c.Host.Host)
	}
	b.close(c.Task, c.Closed)
	if t := b.tasks[c.Task.ID]; t != nil {
		if q := t.queueOf(c.Lease.Origin); q != nil {
			for key, at := range c.Again {
				if e, ok := q.open[key]; ok {
					e.notBefore = at
					q.open[key] = e
				}
			}
			q.stale = true
		}
	}
	b.signal()
}

// Checked shows what robots.txt says.
func (b *Board) Checked(taskID, origin string, c frontier.Checked) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c.Host.Host != "" {
		b.touch(b.host(c.Host.Host), c.Host)
		defer b.tidy(c.Host.Host)
	}
	if c.Task.ID != "" {
		b.close(c.Task, c.Closed)
	}
	if t := b.tasks[taskID]; t != nil {
		if q := t.queueOf(origin); q != nil {
			for _, key := range c.Allowed {
				if e, ok := q.open[string(key)]; ok {
					e.robotsUntil = c.Until
					q.open[string(key)] = e
				}
			}
			q.stale = true
		}
	}
	b.signal()
}

// Extended shows hosts whose leases end later.
func (b *Board) Extended(hosts []string, until int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range hosts {
		if h := b.hosts[name]; h != nil && h.leaseID != "" {
			h.leaseUntil, h.stamp = max(h.leaseUntil, until), b.stamp+1
		}
	}
	b.signal()
}

// Freed shows hosts whose leases have ended.
func (b *Board) Freed(hosts ...schema.Host) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range hosts {
		if known := b.hosts[h.Host]; known != nil {
			b.touch(known, h)
			b.tidy(h.Host)
		}
	}
	b.signal()
}

// Removed shows that a task has ended.
func (b *Board) Removed(taskID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(taskID)
	b.signal()
}

// touch shows a host as this replica left it.
func (b *Board) touch(h *hostState, row schema.Host) {
	h.nextAt, h.leaseID, h.leaseUntil, h.stamp = row.NextAt, row.LeaseID, row.LeaseUntil, b.stamp+1
	if row.LeaseID == "" {
		h.leaseTask, h.parallel = "", 0
	}
}

// close takes addresses off a task, or the task when it has ended.
func (b *Board) close(row schema.Task, keys [][]byte) {
	t := b.tasks[row.ID]
	if t == nil {
		return
	}
	if row.Ended() {
		b.remove(row.ID)
		return
	}
	b.adopt(t, row, 1)
	for _, key := range keys {
		for _, q := range t.queues {
			if _, ok := q.open[string(key)]; ok {
				delete(q.open, string(key))
				q.stale = true
				break
			}
		}
	}
}

// Stamp is to be taken before the database is read for Refresh: what this replica
// changes afterwards is newer than what was read.
func (b *Board) Stamp() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stamp
}

// Knows reports whether the board has the task as it is in the database.
func (b *Board) Knows(row *schema.Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tasks[row.ID]
	return t != nil && !t.dirty && t.row.Rev >= row.Rev && !b.blind(t)
}

// blind reports whether another replica may know of a task what robots.txt says,
// which changes no revision.
func (b *Board) blind(t *task) bool {
	if !b.Shared {
		return false
	}
	for _, q := range t.queues {
		for _, a := range q.open {
			if a.robotsUntil == 0 {
				return true
			}
		}
	}
	return false
}

// Hosts are the hosts of the board's tasks.
func (b *Board) Hosts() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.hosts {
		names = append(names, name)
	}
	return names
}

// Show replaces the picture of tasks by what was read after the stamp was taken.
// askAt is for tasks that were not known.
func (b *Board) Show(p frontier.Picture, stamp int, askAt int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	live := make(map[string]bool, len(p.Tasks))
	for _, row := range p.Tasks {
		live[row.ID] = true
		open, read := p.Open[row.ID]
		if t := b.tasks[row.ID]; read && (t == nil || row.Rev >= t.row.Rev && (t.dirty || row.Rev > t.row.Rev || b.blind(t))) {
			b.put(row, open, askAt)
		}
	}
	for id, t := range b.tasks {
		if !live[id] && t.stamp <= stamp { // not made since
			b.remove(id)
		}
	}
	b.signal()
}

// ShowHosts shows hosts and leases that were read after the stamp was taken.
func (b *Board) ShowHosts(rows []schema.Host, leases []schema.Lease, stamp int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	byHost := make(map[string]schema.Lease, len(leases))
	for _, l := range leases {
		byHost[l.Host] = l
	}
	for _, row := range rows {
		h := b.hosts[row.Host]
		if h == nil || h.stamp > stamp {
			continue
		}
		h.nextAt, h.leaseID, h.leaseUntil = row.NextAt, row.LeaseID, row.LeaseUntil
		h.leaseTask, h.parallel = "", 0
		if l := byHost[row.Host]; l.ID == row.LeaseID {
			h.leaseTask, h.parallel = l.TaskID, l.Parallel
		}
		b.tidy(row.Host)
	}
	b.signal()
}
