import { afterEach, describe, expect, it, vi } from 'vitest'
import { invoke, keys, type Call } from './invoke'

const write: Call = { tool: { name: 'write_file', effect: 'keyed', sink: 'write' }, args: '{"path":"a"}' }
const read: Call = { tool: { name: 'web_search', effect: 'pure', sink: 'read' }, args: '{}' }
const signal = new AbortController().signal

function answers(status: number, body: object) {
  const fetched = vi.fn(async (_url: string, _init: RequestInit) => new Response(JSON.stringify(body), { status }))
  vi.stubGlobal('fetch', fetched)
  return fetched
}
afterEach(() => vi.unstubAllGlobals())

describe('a tool', () => {
  it('that only reads is run without a key', async () => {
    const fetched = answers(200, { code: 0, data: { content: '{}' } })
    expect(await invoke(read, 'k', signal)).toEqual({ result: { content: '{}' } })
    expect(fetched.mock.calls[0]?.[1].headers).not.toHaveProperty('Idempotency-Key')
  })
  it('that asks answers its question, and is run with exactly what was agreed to', async () => {
    answers(409, { code: 409, reason: 'APPROVAL_REQUIRED', message: 'Sure?', args_sha256: 'ab12', details: [] })
    expect(await invoke(write, 'k', signal)).toEqual({ question: { args: write.args, sha256: 'ab12', message: 'Sure?' } })
    const fetched = answers(200, { code: 0, data: { content: '{}' } })
    await invoke({ ...write, confirm: 'ab12' }, 'k', signal)
    const init = fetched.mock.calls[0]?.[1]
    expect(init?.headers).toHaveProperty('Idempotency-Key', 'k')
    expect(JSON.parse(String(init?.body))).toEqual({ arguments_json: write.args, confirm_args_sha256: 'ab12' })
  })
  it('that is refused says why', async () => {
    answers(409, { code: 409, reason: 'KEY_REUSED', message: 'no', details: [] })
    await expect(invoke(write, 'k', signal)).rejects.toMatchObject({ reason: 'KEY_REUSED' })
  })
})

describe('keys', () => {
  it('stay the same for the same call until somebody answered', () => {
    const k = keys()
    const first = k.of(write)
    expect(k.of({ ...write, confirm: 'ab' })).toBe(first)
    expect(k.of({ ...write, args: '{}' })).not.toBe(first)
    const second = k.of(write)
    k.answered()
    expect(k.of(write)).not.toBe(second)
  })
})
