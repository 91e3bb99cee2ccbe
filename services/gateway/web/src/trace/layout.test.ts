import { describe, expect, it } from 'vitest'
import type { Run } from '@/api/wire'
import { layoutOf, ticksOf } from './layout'

const zero = Date.parse('2026-01-31T12:00:00Z')
const time = (ms: number) => new Date(zero + ms).toISOString()
const model = (round: number, from: number, took: number, status = 'completed', attempt = 1) =>
  ({ round, attempt, status, model: 'm', started_at: time(from), duration_ms: took, input_tokens: 10, output_tokens: 5, corrector: false })
const tool = (id: string, round: number, from: number | undefined, took: number, status = 'completed'): NonNullable<Run['tool_calls']>[number] =>
  ({ id, name: id, round, status, attempt: 1, duration_ms: took, trace_id: 't', ...(from === undefined ? {} : { started_at: time(from) }) }) as NonNullable<Run['tool_calls']>[number]
const run = (r: Partial<Run>) => ({ id: 'r', status: 'completed', trace_id: 't', created_at: time(0), tool_calls: [], model_calls: [], ...r }) as Run

const bars = (r: Run, now = 0) => layoutOf(r, zero + now).spans.map((s) => [s.id, s.start, s.end])

describe('the line of time', () => {
  it('has the rounds, and in them the model and the tools that ran side by side', () => {
    const r = run({ ended_at: time(900), model_calls: [model(1, 10, 190), model(2, 600, 290)], tool_calls: [tool('a', 1, 210, 300), tool('b', 1, 220, 100)] })
    expect(bars(r)).toEqual([
      ['run', 0, 900], ['round-1', 10, 510], ['model-1-1', 10, 200], ['tool-a', 210, 510], ['tool-b', 220, 320], ['round-2', 600, 890], ['model-2-1', 600, 890],
    ])
    expect(layoutOf(r, zero).spans[1]).toMatchObject({ input: 10, output: 5, status: 'done' })
  })
  it('ends now for what goes on', () => {
    const r = run({ status: 'running', model_calls: [model(1, 0, 0, 'running')] })
    expect(bars(r, 750)).toEqual([['run', 0, 750], ['round-1', 0, 750], ['model-1-1', 0, 750]])
  })
  it('shows a call that was never started without a bar', () => {
    const spans = layoutOf(run({ ended_at: time(5), tool_calls: [tool('a', 1, undefined, 0, 'denied')] }), zero).spans
    expect(spans.map((s) => [s.id, s.idle])).toEqual([['run', false], ['round-1', true], ['tool-a', true]])
  })
  it('holds tries apart', () => {
    const r = run({ ended_at: time(30), model_calls: [model(1, 0, 10, 'error'), model(1, 15, 10, 'completed', 2)] })
    expect(bars(r).slice(2)).toEqual([['model-1-1', 0, 10], ['model-1-2', 15, 25]])
  })
  it('tells a correction from another try', () => {
    const r = run({ ended_at: time(30), model_calls: [model(1, 0, 10), { ...model(1, 15, 10, 'completed', 2), corrector: true }] })
    expect(layoutOf(r, zero).spans.slice(2).map((s) => s.corrector)).toEqual([false, true])
  })
  it('is there for a run that has nothing yet', () => {
    expect(layoutOf(run({ status: 'queued' }), zero + 40)).toMatchObject({ length: 40, spans: [{ id: 'run', end: 40 }] })
    expect(layoutOf({ id: 'r', status: 'queued', trace_id: '' } as Run, zero).length).toBe(1)
  })
  it.each([[1000, 4, [0, 500, 1000]], [1, 4, [0, 0.5, 1]], [9300, 5, [0, 2000, 4000, 6000, 8000]]])('%d ms has round points', (length, most, ticks) => {
    expect(ticksOf(length, most)).toEqual(ticks)
  })
})
