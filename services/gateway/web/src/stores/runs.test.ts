import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ask, answering, attach, leave, liveRuns, over, refusals, stop } from './runs'

const events = (...list: [string, unknown, number][]) => list.map(([name, data, id]) => `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`).join('')
const started = events(['run_started', { run_id: 'r', conversation_id: 'c', user_message_id: 'u', model: 'm', trace_id: '' }, 1])
const done = events(['done', { message_id: 'a', finish_reason: 'cancelled', run_id: 'r' }, 2])

// A server whose stream of a message is written by the test.
function server() {
  const asked: { key: string; headers: Headers }[] = []
  let pen: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({ start: (controller) => void (pen = controller) })
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    asked.push({ key: `${init.method} ${url}`, headers: new Headers(init.headers) })
    if (url.endsWith('/cancel')) return new Response('{"code":0,"data":{}}', { headers: { 'Content-Type': 'application/json' } })
    init.signal?.addEventListener('abort', () => pen?.error(init.signal?.reason))
    return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
  })
  return { asked, write: (text: string) => pen?.enqueue(new TextEncoder().encode(text)), close: () => pen?.close() }
}

describe('a run that is followed', () => {
  beforeEach(() => {
    liveRuns.clear()
    refusals.clear()
  })
  afterEach(() => void vi.unstubAllGlobals())

  it('is known as living until it has ended', async () => {
    const { asked, write, close } = server()
    const live = ask('c', 'q', { tools: true })
    expect(answering.value.has('c')).toBe(true)
    expect(asked[0]?.headers.get('Idempotency-Key')).toBeTruthy()
    write(started + done)
    close()
    await live.over
    expect(answering.value.has('c')).toBe(false)
    expect(over.has('r')).toBe(true)
    expect(live.state.value.status).toBe('cancelled')
  })
  it('is stopped as soon as it has a name, when that was asked for before', async () => {
    const { asked, write, close } = server()
    const live = ask('c', 'q', { tools: true })
    await stop(live)
    expect(asked.map((a) => a.key)).not.toContain('POST /api/runs/r/cancel')
    write(started)
    await vi.waitFor(() => expect(asked.map((a) => a.key)).toContain('POST /api/runs/r/cancel'))
    write(done)
    close()
    await live.over
  })
  it('is not told as refused when the reader leaves', async () => {
    server()
    const live = ask('c', 'q', { tools: true })
    leave(live)
    await live.over
    expect(refusals.size).toBe(0)
  })
  it('is followed once, however often somebody looks', () => {
    server()
    const live = attach('c', 'r')
    expect(attach('c', 'r')).toBe(live)
    leave(live)
  })
})
