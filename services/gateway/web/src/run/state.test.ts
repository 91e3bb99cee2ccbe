import { describe, expect, it } from 'vitest'
import { apply, ended, fromMessage, newRun, type RunEvent, type RunState } from './state'
import { bytesOf, noText, put } from './text'

function play(...events: [name: string, seq: number, data: unknown][]): RunState {
  return events.reduce((s, [name, seq, data]) => apply(s, { name, seq, data } as RunEvent), newRun)
}

const started: [string, number, unknown] = ['run_started', 1, { run_id: 'run_1', conversation_id: 'conv_1', user_message_id: 'msg_1', model: 'm', trace_id: 't' }]
const piece = (content: string, offset: number, round = 1) => ({ content, round, offset })

describe('text', () => {
  it('counts bytes of UTF-8', () => {
    for (const s of ['', 'a', 'é', '爪', '🦞', 'a é 爪 🦞', '\ud83d']) expect(bytesOf(s)).toBe(new TextEncoder().encode(s).length)
  })
  it('keeps what stands before a piece, whatever its characters', () => {
    const written = put(noText, 0, 'größer 爪 🦞!')
    expect(written).toBeDefined()
    const at = bytesOf('größer 爪 ')
    expect(put(written!, at, 'x')).toEqual({ content: 'größer 爪 x', bytes: at + 1 })
  })
  it('tells that something is missing', () => {
    expect(put(noText, 1, 'x')).toBeUndefined()
  })
})

describe('a run', () => {
  it('puts pieces together and doubles nothing that comes again', () => {
    const s = play(started, ['message', 0, piece('for', 0)], ['message', 0, piece('ty', 3)], ['message', 0, piece('forty nm', 0)], ['message', 2, piece('forty nm', 0)])
    expect(s.rounds[0]?.text.content).toBe('forty nm')
    expect(s.lastSeq).toBe(2)
  })
  it('takes a logged event once', () => {
    const twice = play(started, ['notice', 2, { kind: 'retry', message: 'x', round: 1 }], ['notice', 2, { kind: 'retry', message: 'x', round: 1 }])
    expect(twice.notices).toHaveLength(1)
  })
  it('notices a gap', () => {
    expect(play(started, ['message', 0, piece('y', 5)]).gap).toBe(true)
  })
  it('drops the text of a round that is written anew', () => {
    const s = play(started, ['message', 0, piece('old', 0)], ['round_restarted', 2, { round: 1 }], ['message', 0, piece('new', 0)])
    expect(s.rounds.map((r) => r.text.content)).toEqual(['new'])
  })
  it('follows a call from its arguments to its result', () => {
    let s = play(started, ['tool_args', 0, { round: 1, ordinal: 0, name: 'web_search', arguments: '{"q' }])
    expect(s.rounds[0]?.calls[0]).toMatchObject({ id: '', name: 'web_search', args: '{"q', status: 'writing' })
    s = apply(s, { name: 'tool_call', seq: 2, data: { round: 1, calls: [{ id: 'c1', type: 'function', function: { name: 'web_search', arguments: '{"query":"x"}' } }] } })
    expect(s.rounds[0]?.calls).toMatchObject([{ id: 'c1', status: 'pending', args: '{"query":"x"}' }])
    s = apply(s, { name: 'tool_progress', seq: 0, data: { tool_call_id: 'c1', name: 'web_search', message: 'asking', done: 1, total: 2 } })
    expect(s.rounds[0]?.calls[0]).toMatchObject({ status: 'running', progress: { message: 'asking', done: 1, total: 2 } })
    const result = { role: 'tool', tool_call_id: 'c1', name: 'web_search', content: '{}', is_error: false, duration_ms: 3, truncated: false, result_id: 'c1', trace_id: '' }
    s = apply(s, { name: 'tool_result', seq: 3, data: { round: 1, results: [result] } })
    expect(s.rounds[0]?.calls[0]).toMatchObject({ status: 'completed', result })
    s = apply(s, { name: 'tool_progress', seq: 0, data: { tool_call_id: 'c1', name: 'web_search', message: 'late', done: 2, total: 2 } })
    expect(s.rounds[0]?.calls[0]?.status).toBe('completed')
  })
  it.each([
    ['TOOL_DISABLED', 'denied'], ['APPROVAL_UNAVAILABLE', 'denied'], ['CANCELLED', 'cancelled'], ['OUTCOME_UNKNOWN', 'unknown'], ['TIMEOUT', 'error'], ['', 'error'],
  ])('reads from the reason %s that a call was %s', (reason, status) => {
    const content = reason ? JSON.stringify({ success: false, error: { reason } }) : 'no JSON'
    const s = play(started, ['tool_call', 2, { round: 1, calls: [{ id: 'c', function: { name: 'x', arguments: '{}' } }] }], ['tool_result', 3, { round: 1, results: [{ tool_call_id: 'c', content, is_error: true }] }])
    expect(s.rounds[0]?.calls[0]?.status).toBe(status)
  })
  it('names the model that answered in the end', () => {
    const end = { message_id: 'msg_2', finish_reason: 'stop', run_id: 'run_1' }
    expect(play(started).model).toBe('m')
    expect(play(started, ['done', 2, { ...end, model: 'spare' }]).model).toBe('spare')
    expect(play(started, ['done', 2, end]).model).toBe('m') // logged by an older server
  })
  it('leaves no call open when it ends', () => {
    const s = play(started, ['tool_call', 2, { round: 1, calls: [{ id: 'c', function: { name: 'x', arguments: '{}' } }] }], ['tool_args', 0, { round: 2, ordinal: 0, name: 'y', arguments: '' }], ['done', 3, { message_id: 'msg_2', finish_reason: 'cancelled', run_id: 'run_1' }])
    expect(ended(s)).toBe(true)
    expect(s.status).toBe('cancelled')
    expect(s.rounds.flatMap((r) => r.calls.map((c) => c.status))).toEqual(['cancelled'])
  })
  it('passes over events of a newer server', () => {
    const s = play(started)
    expect(apply(s, { name: 'hologram', seq: 0, data: {} })).toBe(s)
    expect(apply(s, { name: 'hologram', seq: 2, data: {} })).toEqual({ ...s, lastSeq: 2 })
  })
  it('is made from a stored answer as it was made from its events', () => {
    const usage = { input_tokens: 1, output_tokens: 2, cached_tokens: 0, reasoning_tokens: 0, model_calls: 1, estimated: false }
    const result = { role: 'tool', tool_call_id: 'c', name: 'x', content: '{}', is_error: false, duration_ms: 1, truncated: false, result_id: '', trace_id: '' }
    const live = play(started, ['thinking', 2, piece('hm', 0)], ['message', 3, piece('I look', 0)],
      ['tool_call', 4, { round: 1, calls: [{ id: 'c', type: 'function', function: { name: 'x', arguments: '{}' } }] }], ['tool_result', 5, { round: 1, results: [result] }],
      ['message', 6, piece('found', 0, 2)], ['done', 7, { message_id: 'msg_2', finish_reason: 'stop', run_id: 'run_1', usage }])
    const stored = fromMessage({
      id: 'msg_2', conversation_id: 'conv_1', parent_id: 'msg_1', role: 'assistant', content: 'found', model: 'm', run_id: 'run_1', status: '', waiting_for: [], finish_reason: 'stop', usage, origins: [], created_at: '',
      steps: [
        { type: 'thinking', round: 1, content: 'hm' }, { type: 'text', round: 1, content: 'I look' },
        { type: 'tool_call', round: 1, content: '', call: { id: 'c', type: 'function', function: { name: 'x', arguments: '{}' } } },
        { type: 'tool_result', round: 1, content: '', result }, { type: 'text', round: 2, content: 'found' },
      ],
    } as never)
    expect(stored.rounds).toEqual(live.rounds)
    expect(stored.status).toBe(live.status)
  })
})
