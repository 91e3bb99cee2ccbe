// Following a run to its end, over as many connections as that takes. The run
// lives on the server; closing a stream never ends it.
import { APIError, type Ask } from '@/api/http'
import { readEvents, type StreamEvent } from '@/api/events'
import { apply, ended, newRun, type RunState } from './state'

/** Connection is how the reader stands with the server. */
export type Connection = 'open' | 'connecting' | 'lost'

/** Start is what is asked for first: a message that begins a run, or nothing for
 * a run that lives already. */
export interface Start {
  path: string
  ask: Ask
}

export interface Follow {
  /** State to go on from; a new run without it. */
  state?: RunState
  start?: Start
  onState: (state: RunState) => void
  onConnection?: (connection: Connection) => void
  signal: AbortSignal
  /** read is readEvents, but for tests. */
  read?: typeof readEvents
  /** wait is how tests make time pass. */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

// Pauses between tries: soon at first, and never longer than a person waits.
const firstPause = 300
const longestPause = 10_000

/** follow reads until the run has ended, and answers its last state. It throws an
 * APIError for what trying again does not mend, and when the signal aborts. */
export async function follow(f: Follow): Promise<RunState> {
  const read = f.read ?? readEvents
  const wait = f.wait ?? pause
  let state = f.state ?? newRun
  let start = f.start
  let failures = 0
  while (!ended(state)) {
    f.signal.throwIfAborted()
    f.onConnection?.(failures === 0 ? 'connecting' : 'lost')
    const before = state
    let again = 0
    try {
      const ask = start ?? { path: `/api/runs/${encodeURIComponent(state.runId)}/events`, ask: {} }
      const headers = { ...ask.ask.headers, ...(start ? {} : { 'Last-Event-ID': String(state.lastSeq) }) }
      if (!start) state = { ...state, gap: false }
      const stream = new AbortController()
      const signal = AbortSignal.any([f.signal, stream.signal])
      try {
        await read(ask.path, { ...ask.ask, headers, signal }, (event) => {
          f.onConnection?.('open')
          state = next(state, event)
          f.onState(state)
          if (state.gap) stream.abort()
        })
      } catch (error) {
        if (!stream.signal.aborted) throw error
      }
    } catch (error) {
      f.signal.throwIfAborted()
      if (!(error instanceof APIError) || !passes(error)) throw error
      again = error.retryAfter
    }
    if (state.runId !== '') start = undefined // it was begun: from here on it is only watched
    else if (start && !repeatable(start)) throw new APIError({ message: 'The connection was cut before the server answered. Whether it got the message is not known: reload to see.', reason: 'CUT' })
    if (ended(state)) break
    failures = readSoFar(state) > readSoFar(before) ? 1 : failures + 1
    await wait(Math.max(again, Math.min(firstPause * 2 ** (failures - 1), longestPause)), f.signal)
  }
  f.onConnection?.('open')
  return state
}

function next(state: RunState, event: StreamEvent): RunState {
  return apply(state, { name: event.name, seq: Number(event.id) || 0, data: event.data })
}

// readSoFar grows with everything that a connection brought.
function readSoFar(state: RunState): number {
  return state.lastSeq + state.rounds.reduce((sum, r) => sum + r.thinking.bytes + r.text.bytes, 0)
}

/** passes says that a failure may be over soon. */
export function passes(error: APIError): boolean {
  return error.unreachable || error.status === 429 || error.status === 408
}

// A request with a key begins one run however often it is sent.
function repeatable(start: Start): boolean {
  return start.ask.headers?.['Idempotency-Key'] !== undefined
}

/** pause waits, and less when the page is looked at or the network comes back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const wakes: [EventTarget, string][] = [[window, 'online'], [window, 'pageshow'], [document, 'visibilitychange']]
    const over = (end: () => void) => () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      for (const [target, name] of wakes) target.removeEventListener(name, wake)
      end()
    }
    const abort = over(() => reject(signal.reason as Error))
    const timer = setTimeout(over(resolve), ms)
    const wake = () => {
      if (document.visibilityState === 'visible') over(resolve)()
    }
    signal.addEventListener('abort', abort)
    for (const [target, name] of wakes) target.addEventListener(name, wake)
  })
}
