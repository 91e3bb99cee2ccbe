// What a reader knows of a crawl: the task as it was read, moved on by events.
import type { StreamEvent } from '@/api/events'
import type { CrawlDone, CrawlEvents, CrawlHost, CrawlProgress, CrawlTask } from '@/api/wire'

/** Live is what the events of a task have told. */
export interface Live {
  lastSeq: number
  status: string
  outcome: string
  progress: number
  total: number
  succeeded: number
  failed: number
  skipped: number
  rate: number
  stall: string
  hosts: CrawlHost[]
  /** Results told of; a list of them that is shown loads again when it grows. */
  recorded: number
  /** The task has ended. */
  over: boolean
}

const ends = new Set(['completed', 'failed', 'cancelled'])

/** liveOf begins with a task as it was read. */
export function liveOf(task: CrawlTask): Live {
  return {
    lastSeq: task.last_seq,
    status: task.status,
    outcome: task.outcome,
    progress: task.progress,
    total: task.total,
    succeeded: task.succeeded,
    failed: task.failed,
    skipped: task.skipped,
    rate: 0,
    stall: task.stall_reason,
    hosts: [],
    recorded: task.progress,
    over: ends.has(task.status),
  }
}

/** next is the state after one event. Events that are not known, and those that
 * were seen, change nothing. */
export function next(live: Live, event: StreamEvent): Live {
  const seq = Number(event.id) || 0
  if (seq > 0 && seq <= live.lastSeq) return live
  const after = taken(live, event)
  return seq > 0 ? { ...after, lastSeq: seq } : after
}

function taken(live: Live, event: StreamEvent): Live {
  switch (event.name as keyof CrawlEvents) {
    case 'progress':
      return progressed(live, event.data as CrawlProgress)
    case 'page': {
      const page = event.data as CrawlEvents['page']
      return { ...live, recorded: Math.max(live.recorded, page.result_seq) }
    }
    case 'host':
      return { ...live, hosts: withHost(live.hosts, event.data as CrawlHost) }
    case 'state': {
      const { status } = event.data as CrawlEvents['state']
      return { ...live, status, over: ends.has(status) }
    }
    case 'done':
      return finished(live, event.data as CrawlDone)
    default:
      return live
  }
}

function progressed(live: Live, p: CrawlProgress): Live {
  // A number never falls: the stream may begin with what was true a moment ago.
  const up = (is: number, was: number) => Math.max(is, was)
  return {
    ...live,
    status: live.over ? live.status : p.status,
    progress: up(p.progress, live.progress),
    total: p.total,
    succeeded: up(p.succeeded, live.succeeded),
    failed: up(p.failed, live.failed),
    skipped: up(p.skipped, live.skipped),
    rate: p.rate,
    stall: p.stall_reason,
    recorded: up(p.progress, live.recorded),
  }
}

function finished(live: Live, d: CrawlDone): Live {
  const progress = d.succeeded + d.failed + d.skipped
  return {
    ...live,
    status: d.status,
    outcome: d.outcome,
    succeeded: d.succeeded,
    failed: d.failed,
    skipped: d.skipped,
    total: d.total,
    progress,
    recorded: Math.max(live.recorded, progress),
    rate: 0,
    stall: '',
    over: true,
    hosts: [],
  }
}

function withHost(hosts: CrawlHost[], host: CrawlHost): CrawlHost[] {
  const at = hosts.findIndex((h) => h.host === host.host)
  return at < 0 ? [...hosts, host] : hosts.with(at, host)
}
