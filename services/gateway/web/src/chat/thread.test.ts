import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, nextTick, ref, watch } from 'vue'
import type { Message } from '@/api/wire'
import { ask, liveRuns, refusals } from '@/stores/runs'
import { itemsOf, stateOf, useThread, type Thread } from './thread'

const message = (id: string, role: string, content: string, more: Partial<Message> = {}): Message =>
  ({ id, conversation_id: 'c', parent_id: '', role, content, steps: [], model: 'm', run_id: '', status: '', waiting_for: [], finish_reason: 'stop', origins: [], created_at: '2026-01-01T00:00:00Z', ...more }) as unknown as Message

const json = (data: unknown, status = 200) => new Response(JSON.stringify(status < 400 ? { code: 0, data } : data), { status, headers: { 'Content-Type': 'application/json' } })
const stream = (...events: [string, unknown, number?][]) =>
  new Response(events.map(([name, data, id]) => `event: ${name}\n${id ? `id: ${id}\n` : ''}data: ${JSON.stringify(data)}\n\n`).join(''), { headers: { 'Content-Type': 'text/event-stream' } })

const started: [string, unknown, number] = ['run_started', { run_id: 'r', conversation_id: 'c', user_message_id: 'u2', model: 'm', trace_id: '' }, 1]
const said: [string, unknown, number] = ['message', { content: 'forty', round: 1, offset: 0 }, 2]
const done: [string, unknown, number] = ['done', { message_id: 'a2', finish_reason: 'stop', run_id: 'r' }, 3]

describe('a conversation', () => {
  const scope = () => effectScope()
  let asked: string[] = []
  let answers: Record<string, () => Response> = {}
  let here: ReturnType<typeof scope>

  beforeEach(() => {
    asked = []
    answers = {
      'GET /api/conversations': () => json({ items: [], next_cursor: '', has_more: false }),
      'GET /api/conversations/c': () => json({ id: 'c', title: 'T', model: '', message_count: 2, updated_at: '' }),
      'GET /api/conversations/c/messages': () => json({ items: [message('u1', 'user', 'q'), message('a1', 'assistant', 'a', { run_id: 'r0' })], next_cursor: '', has_more: false }),
    }
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      const key = `${init.method} ${url.split('?')[0]}`
      asked.push(key)
      const answer = answers[key]
      if (!answer) throw new Error(`nobody foresaw ${key}`)
      return answer()
    })
    here = scope()
    liveRuns.clear()
    refusals.clear()
  })
  afterEach(() => {
    here.stop()
    vi.unstubAllGlobals()
  })
  const open = (id = 'c'): Thread => here.run(() => useThread(() => id)) as Thread
  const shown = (thread: Thread) => thread.items.value.map((i) => (i.kind === 'question' ? i.text : stateOf(i).rounds.map((r) => r.text.content).join('')))

  it('shows what is stored', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    expect(thread.items.value.map((i) => i.kind)).toEqual(['question', 'answer'])
  })
  it('takes a message and shows its answer, in the same place to the end', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    answers['POST /api/conversations/c/messages'] = () => stream(started, said, done)
    thread.send('how many?', true)
    const key = thread.items.value.at(-1)?.key
    await vi.waitFor(() => expect(thread.live.value).toBeUndefined())
    expect(shown(thread).slice(-2)).toEqual(['how many?', 'forty'])
    expect(thread.items.value.at(-1)?.key).toBe(key)
  })
  it('gives a message back that was refused', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    answers['POST /api/conversations/c/messages'] = () => json({ code: 400, message: 'no', reason: 'MODEL_NOT_CONFIGURED' }, 400)
    thread.send('how many?', true)
    await vi.waitFor(() => expect(thread.refused.value).toBeDefined())
    expect(thread.refused.value).toMatchObject({ text: 'how many?', error: { reason: 'MODEL_NOT_CONFIGURED' } })
    expect(thread.items.value).toHaveLength(2)
  })
  it('gives it back also when nobody looked at the conversation meanwhile', async () => {
    answers['POST /api/conversations/c/messages'] = () => json({ code: 400, message: 'no', reason: 'MODEL_NOT_CONFIGURED' }, 400)
    await ask('c', 'how many?', { tools: true }).over
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    expect(thread.refused.value).toMatchObject({ text: 'how many?' })
  })
  it('shows a question that is still on its way', async () => {
    let arrive = () => {}
    answers['GET /api/conversations/c/messages'] = () => json({ items: [], next_cursor: '', has_more: false })
    vi.stubGlobal('fetch', ((before) => async (url: string, init: RequestInit) => {
      if (init.method === 'POST') await new Promise<void>((resolve) => (arrive = resolve))
      return before(url, init)
    })(fetch))
    answers['POST /api/conversations/c/messages'] = () => stream(started, said, done)
    const live = ask('c', 'how many?', { tools: true })
    const thread = open()
    await vi.waitFor(() => expect(shown(thread)).toEqual(['how many?', '']))
    arrive()
    await live.over
    expect(shown(thread)).toEqual(['how many?', 'forty'])
  })
  it('shows the answer that another window asked for, and gives the message back', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    answers['POST /api/conversations/c/messages'] = () => json({ code: 409, message: 'busy', reason: 'RUN_IN_PROGRESS' }, 409)
    answers['GET /api/conversations/c'] = () => json({ id: 'c', title: 'T', live_run: { id: 'r', status: 'running', last_seq: 1 } })
    answers['GET /api/conversations/c/messages'] = () => json({ items: [message('u2', 'user', 'theirs')], next_cursor: '', has_more: false })
    answers['GET /api/runs/r/events'] = () => stream(started, said, done)
    const busy: boolean[] = []
    here.run(() => watch(thread.busy, (now) => busy.push(now), { flush: 'sync' }))
    thread.send('mine', true)
    await vi.waitFor(() => expect(shown(thread)).toEqual(['theirs', 'forty']))
    await vi.waitFor(() => expect(busy).toEqual([true, false]))
    expect(thread.refused.value).toMatchObject({ text: 'mine', error: undefined })
  })
  it('says when it is not there', async () => {
    answers['GET /api/conversations/c'] = () => json({ code: 404, message: 'no', reason: 'NOT_FOUND' }, 404)
    const thread = open()
    await vi.waitFor(() => expect(thread.gone.value).toBe(true))
  })
  it('says when it was deleted while something was written', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    answers['POST /api/conversations/c/messages'] = () => json({ code: 404, message: 'no', reason: 'NOT_FOUND' }, 404)
    thread.send('lost?', true)
    await vi.waitFor(() => expect(thread.gone.value).toBe(true))
    expect(thread.refused.value?.text).toBe('lost?')
  })
  it('answers a question again in the place of its answer', async () => {
    const thread = open()
    await vi.waitFor(() => expect(thread.loading.value).toBe(false))
    answers['POST /api/conversations/c/messages/a1/regenerate'] = () => stream(started, said, done)
    thread.again(true)
    await vi.waitFor(() => expect(shown(thread)).toEqual(['q', 'forty']))
  })
  it('reads all pages of messages', async () => {
    let page = 0
    answers['GET /api/conversations/c/messages'] = () => (page++ === 0 ? json({ items: [message('u1', 'user', 'one')], next_cursor: 'x', has_more: true }) : json({ items: [message('u2', 'user', 'two')], next_cursor: '', has_more: false }))
    const thread = open()
    await vi.waitFor(() => expect(shown(thread)).toEqual(['one', 'two']))
  })
  it('begins anew when another one is opened', async () => {
    const id = ref('c')
    const thread = here.run(() => useThread(() => id.value)) as Thread
    await vi.waitFor(() => expect(thread.items.value).toHaveLength(2))
    id.value = ''
    await nextTick()
    expect(thread.items.value).toEqual([])
  })
})

describe('items', () => {
  it('know when their question was asked', () => {
    const items = itemsOf([message('u', 'user', 'q', { created_at: '2026-01-01T00:00:00Z' }), message('a', 'assistant', 'x', { created_at: '2026-01-01T00:00:05Z' })])
    expect(items[1]).toMatchObject({ kind: 'answer', asked: '2026-01-01T00:00:00Z' })
  })
})
