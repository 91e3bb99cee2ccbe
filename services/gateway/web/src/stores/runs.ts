// The runs that this window follows. They go on when another page is looked at,
// and at the server when nobody looks at all.
import { computed, ref, shallowReactive, shallowRef, type Ref, type ShallowRef } from 'vue'
import { request } from '@/api/http'
import type { Run } from '@/api/wire'
import { follow, type Connection, type Start } from '@/run/follow'
import { ended, newRun, type RunState } from '@/run/state'

/** Live is one run that is followed. */
export interface Live {
  conversationId: string
  /** What was asked; empty for a run that somebody else began. */
  question: string
  state: ShallowRef<RunState>
  connection: Ref<Connection>
  /** The reader asked for its end. */
  stopping: Ref<boolean>
  /** It will not go on, and this is why: the request was refused. */
  failure: ShallowRef<unknown>
  /** When it was begun here, and when it ended. */
  began: number
  took: Ref<number>
  /** over resolves when nothing more will come, whatever the reason. */
  over: Promise<void>
}

export const liveRuns = shallowReactive(new Map<string, Live>())

/** answering are the conversations in which an answer is being written. */
export const answering = computed(() => new Set(liveRuns.keys()))

/** Refusal is a message that began no run. */
export interface Refusal {
  live: Live
  error: unknown
  text: string
}

/** refusals are kept, by conversation, until somebody looks at the conversation. */
export const refusals = shallowReactive(new Map<string, Refusal>())

/** over holds the runs that ended here: what says that they live is older. */
export const over = shallowReactive(new Set<string>())

const following = new Map<Live, AbortController>()

export interface Asking {
  tools: boolean
}

/** ask sends a message. Its key makes sending it twice harmless. */
export function ask(conversationId: string, content: string, how: Asking): Live {
  return begin(conversationId, content, {
    path: `/api/conversations/${encodeURIComponent(conversationId)}/messages`,
    ask: { method: 'POST', body: { content, stream: true, tools_enabled: how.tools }, headers: { 'Idempotency-Key': crypto.randomUUID() } },
  })
}

/** regenerate answers a question again. */
export function regenerate(conversationId: string, messageId: string, how: Asking): Live {
  return begin(conversationId, '', {
    path: `/api/conversations/${encodeURIComponent(conversationId)}/messages/${encodeURIComponent(messageId)}/regenerate`,
    ask: { method: 'POST', body: { tools_enabled: how.tools }, headers: { 'Idempotency-Key': crypto.randomUUID() } },
  })
}

/** attach follows a run that lives already. */
export function attach(conversationId: string, runId: string): Live {
  return liveRuns.get(conversationId) ?? begin(conversationId, '', undefined, { ...newRun, runId, conversationId })
}

/** stop asks the run to end. What it has written stays. */
export async function stop(live: Live): Promise<void> {
  live.stopping.value = true
  const id = live.state.value.runId
  if (!id) return // sent as soon as the run has a name
  try {
    await request<Run>(`/api/runs/${encodeURIComponent(id)}/cancel`, { method: 'POST', body: {} })
  } catch (error) {
    live.stopping.value = false
    throw error
  }
}

/** leave follows no longer; the run itself goes on. */
export function leave(live: Live): void {
  following.get(live)?.abort(new Error('left'))
}

function begin(conversationId: string, question: string, start?: Start, state: RunState = newRun): Live {
  const left = new AbortController()
  const live: Live = {
    conversationId, question, state: shallowRef(state), connection: ref('connecting'), stopping: ref(false), failure: shallowRef(), began: Date.now(), took: ref(0),
    over: Promise.resolve(),
  }
  const show = paced((next: RunState) => {
    const named = live.state.value.runId === '' && next.runId !== ''
    live.state.value = next
    if (named && live.stopping.value) void stop(live).catch(() => undefined)
  })
  liveRuns.set(conversationId, live)
  following.set(live, left)
  live.over = follow({ state, start, signal: left.signal, onState: show.next, onConnection: (c) => (live.connection.value = c) })
    .then((last) => void show.last(last))
    .catch((error: unknown) => {
      show.flush()
      if (ended(live.state.value)) return
      live.failure.value = error
      if (live.state.value.runId === '' && !left.signal.aborted) refusals.set(conversationId, { live, error, text: question })
    })
    .finally(() => {
      live.took.value = Date.now() - live.began
      if (ended(live.state.value)) over.add(live.state.value.runId)
      following.delete(live)
      if (liveRuns.get(conversationId) === live) liveRuns.delete(conversationId)
    })
  return live
}

// paced shows states no more often than the page is drawn.
function paced<T>(show: (value: T) => void) {
  let latest: { value: T } | undefined
  let scheduled: (() => void) | undefined
  const flush = () => {
    scheduled?.()
    scheduled = undefined
    const value = latest
    latest = undefined
    if (value) show(value.value)
  }
  return {
    next(value: T) {
      latest = { value }
      if (scheduled) return
      // A page in the background is not drawn, and is kept up to date all the same.
      if (document.visibilityState === 'hidden') {
        const timer = setTimeout(flush, 250)
        scheduled = () => clearTimeout(timer)
      } else {
        const frame = requestAnimationFrame(flush)
        scheduled = () => cancelAnimationFrame(frame)
      }
    },
    flush,
    last(value: T) {
      latest = { value }
      flush()
    },
  }
}
