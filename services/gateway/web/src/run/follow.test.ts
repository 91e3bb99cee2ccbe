import { describe, expect, it, vi } from 'vitest'
import { APIError, type Ask } from '@/api/http'
import type { StreamEvent } from '@/api/events'
import { follow, type Follow } from './follow'
import { newRun } from './state'

const started: StreamEvent = { name: 'run_started', id: '1', data: { run_id: 'r', conversation_id: 'c', user_message_id: 'm', model: 'x', trace_id: '' } }
const piece = (content: string, offset: number): StreamEvent => ({ name: 'message', id: '', data: { content, round: 1, offset } })
const done: StreamEvent = { name: 'done', id: '3', data: { message_id: 'a', finish_reason: 'stop', run_id: 'r' } }

// A server that plays one stream a connection: events, and then the end or a
// failure.
function server(...streams: (StreamEvent[] | APIError)[]) {
  const asked: { path: string; ask: Ask }[] = []
  const read: Follow['read'] = async (path, ask, tell) => {
    asked.push({ path, ask })
    const stream = streams.shift()
    if (!stream) throw new Error('nobody foresaw this connection')
    if (stream instanceof APIError) throw stream
    for (const event of stream) {
      tell(event)
      ask.signal?.throwIfAborted()
    }
  }
  return { read, asked }
}

const keyed = { path: '/api/conversations/c/messages', ask: { method: 'POST' as const, headers: { 'Idempotency-Key': 'k' } } }

function run(f: Pick<Follow, 'read'> & Partial<Follow>) {
  const waits: number[] = []
  return { waits, end: follow({ onState: () => {}, signal: new AbortController().signal, wait: async (ms) => void waits.push(ms), ...f }) }
}

describe('follow', () => {
  it('reads a run over connections that are cut, and doubles nothing', async () => {
    const { read, asked } = server([started, piece('for', 0)], [piece('forty', 0)], new APIError({ status: 503, message: '', retryAfter: 2000 }), [piece('forty', 0), piece(' nm', 5), done])
    const { end, waits } = run({ read, start: keyed })
    const state = await end
    expect(state.rounds[0]?.text.content).toBe('forty nm')
    expect(asked.map((a) => [a.path, a.ask.headers?.['Last-Event-ID']])).toEqual([
      [keyed.path, undefined], ['/api/runs/r/events', '1'], ['/api/runs/r/events', '1'], ['/api/runs/r/events', '1'],
    ])
    expect(waits[2]).toBe(2000)
  })
  it('waits no longer from cut to cut while each connection brings text', async () => {
    const { read } = server([started, piece('a', 0)], [piece('ab', 0)], [piece('abc', 0)], [piece('abc', 0), done])
    const { end, waits } = run({ read, start: keyed })
    await end
    expect(waits).toEqual([300, 300, 300])
  })
  it('watches again when a piece was missed', async () => {
    const { read, asked } = server([started, piece('x', 4)], [piece('forty', 0), done])
    const state = await run({ read, start: keyed }).end
    expect(state.rounds[0]?.text.content).toBe('forty')
    expect(asked).toHaveLength(2)
  })
  it('sends a message again when nothing came back, for its key begins one run', async () => {
    const { read, asked } = server(new APIError({ message: 'cut' }), [started, done])
    await run({ read, start: keyed }).end
    expect(asked.map((a) => a.path)).toEqual([keyed.path, keyed.path])
  })
  it('sends no message twice that has no key', async () => {
    const { read } = server([])
    await expect(run({ read, start: { path: '/x', ask: { method: 'POST' } } }).end).rejects.toMatchObject({ reason: 'CUT' })
  })
  it('gives up at what trying again does not mend', async () => {
    const { read } = server(new APIError({ status: 404, reason: 'NOT_FOUND', message: 'gone' }))
    await expect(run({ read, state: { ...newRun, runId: 'r' } }).end).rejects.toMatchObject({ status: 404 })
  })
  it('stops when nobody follows any more', async () => {
    const left = new AbortController()
    const { read } = server([started], [])
    const onState = vi.fn(() => left.abort(new Error('left')))
    await expect(follow({ read, start: keyed, onState, signal: left.signal, wait: async () => {} })).rejects.toThrow('left')
    expect(onState).toHaveBeenCalledTimes(1)
  })
})
