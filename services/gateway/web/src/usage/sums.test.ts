import { describe, expect, it } from 'vitest'
import { byDay, byModel, topOf, type Row } from './sums'

const row = (date: string, model: string, input: number, output: number): Row =>
  ({ date, model, input_tokens: input, output_tokens: output, cached_tokens: 1, model_calls: 2, tool_calls: 3, cost_usd: 0.5 })
const rows = [row('2026-03-01', 'a', 10, 1), row('2026-03-01', 'b', 100, 2), row('2026-02-27', 'a', 5, 5)]
const tools = row('2026-03-01', '', 0, 0)

describe('usage', () => {
  it('by day has every day, over the end of a month', () => {
    const days = byDay(rows, 4, new Date('2026-03-01T23:59:59Z'))
    expect(days.map((d) => [d.key, d.input, d.output])).toEqual([['2026-02-26', 0, 0], ['2026-02-27', 5, 5], ['2026-02-28', 0, 0], ['2026-03-01', 110, 3]])
  })
  it('by model has the most used first, and sums what is of a model', () => {
    expect(byModel([...rows, tools])).toEqual([
      { key: 'b', input: 100, output: 2, cached: 1, modelCalls: 2, toolCalls: 3, cost: 0.5 },
      { key: 'a', input: 15, output: 6, cached: 2, modelCalls: 4, toolCalls: 6, cost: 1 },
    ])
  })
  it.each([[0, 1], [1, 1], [7, 10], [21, 25], [260, 500], [99_000, 100_000]])('the top above %d is %d', (highest, top) => {
    expect(topOf(highest)).toBe(top)
  })
})
