// Following a crawl to its end, over as many connections as that takes.
import { readEvents } from '@/api/events'
import { APIError } from '@/api/http'
import { backoff } from '@/composables/backoff'
import { passes } from '@/run/follow'
import { next, type Live } from './state'

export interface Watch {
  task: string
  live: Live
  onLive: (live: Live) => void
  onConnected: (connected: boolean) => void
  signal: AbortSignal
  /** read and wait are what tests replace. */
  read?: typeof readEvents
  wait?: typeof backoff
}

/** watch reads until the task has ended. It throws an APIError for what trying
 * again does not mend, and when the signal aborts. */
export async function watch(w: Watch): Promise<void> {
  const read = w.read ?? readEvents
  const wait = w.wait ?? backoff
  let live = w.live
  let tries = 0
  while (!live.over) {
    const before = live.lastSeq
    try {
      await read(`/api/crawler/tasks/${encodeURIComponent(w.task)}/events`, { headers: { 'Last-Event-ID': String(live.lastSeq) }, signal: w.signal }, (event) => {
        w.onConnected(true)
        live = next(live, event)
        w.onLive(live)
      })
    } catch (error) {
      w.signal.throwIfAborted()
      if (!(error instanceof APIError) || !passes(error)) throw error
    }
    if (live.over) return
    w.signal.throwIfAborted()
    w.onConnected(false)
    tries = live.lastSeq > before ? 0 : tries + 1
    await wait(tries, w.signal)
  }
}
