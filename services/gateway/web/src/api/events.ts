// Streams of server-sent events, read with fetch: it can POST, and unlike
// EventSource it can be told from a connection that hangs.
import { createParser } from 'eventsource-parser'
import { APIError, send, type Ask } from './http'

/** StreamEvent is one event; id is empty for a live one. */
export interface StreamEvent {
  name: string
  id: string
  data: unknown
}

/** stallTime is the silence after which a stream counts as dead. The gateway
 * sends a ping every 10 seconds. */
export const stallTime = 25_000

/**
 * readEvents reads a stream to its end and tells each event. It returns when the
 * stream ended, was cut or fell silent: a reader goes by the events. It throws an
 * APIError when the stream was refused, and when the signal aborts.
 */
export async function readEvents(path: string, ask: Ask, tell: (event: StreamEvent) => void): Promise<void> {
  const cut = new AbortController()
  const stop = () => cut.abort()
  ask.signal?.addEventListener('abort', stop)
  let stalled: ReturnType<typeof setTimeout> | undefined
  const alive = () => {
    clearTimeout(stalled)
    stalled = setTimeout(stop, stallTime)
  }
  try {
    alive()
    const response = await send(path, { ...ask, headers: { ...ask.headers, Accept: 'text/event-stream' }, signal: cut.signal })
    if (!response.body || !response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
      throw new APIError({ status: response.status, reason: 'BAD_ANSWER', message: 'What answered is no stream of events.' })
    }
    const parser = createParser({
      onEvent(event) {
        const data = parse(event.data)
        if (data !== undefined) tell({ name: event.event ?? 'message', id: event.id ?? '', data })
      },
    })
    const reader = response.body.getReader()
    const text = new TextDecoder()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      alive()
      parser.feed(text.decode(value, { stream: true }))
    }
  } catch (error) {
    if (ask.signal?.aborted) throw error
    if (error instanceof APIError && !(error.status === 0)) throw error
    if (error instanceof APIError && !cut.signal.aborted) throw error
    // The connection was cut or stood still: what was told counts.
  } finally {
    clearTimeout(stalled)
    ask.signal?.removeEventListener('abort', stop)
    cut.abort()
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    return undefined // of a newer server, perhaps; nothing else can be done
  }
}
