// Sums over the rows of usage.
import type { UsageReport } from '@/api/wire'

export type Row = UsageReport['rows'][number]

/** Sum of some rows. */
export interface Sum {
  key: string
  input: number
  output: number
  cached: number
  modelCalls: number
  toolCalls: number
  cost: number
}

/** sumsBy sums rows that have the same key; the order is that of the first row of
 * each. */
export function sumsBy(rows: Row[], key: (row: Row) => string): Sum[] {
  const sums = new Map<string, Sum>()
  for (const row of rows) {
    const k = key(row)
    const sum = sums.get(k) ?? { key: k, input: 0, output: 0, cached: 0, modelCalls: 0, toolCalls: 0, cost: 0 }
    sum.input += row.input_tokens
    sum.output += row.output_tokens
    sum.cached += row.cached_tokens
    sum.modelCalls += row.model_calls
    sum.toolCalls += row.tool_calls
    sum.cost += row.cost_usd
    sums.set(k, sum)
  }
  return [...sums.values()]
}

/** byDay has a sum for each of the last days, oldest first, also for those on
 * which nothing was used. */
export function byDay(rows: Row[], days: number, today: Date): Sum[] {
  const sums = new Map(sumsBy(rows, (row) => row.date).map((sum) => [sum.key, sum]))
  return Array.from({ length: days }, (_, i) => {
    const date = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - (days - 1 - i))).toISOString().slice(0, 10)
    return sums.get(date) ?? { key: date, input: 0, output: 0, cached: 0, modelCalls: 0, toolCalls: 0, cost: 0 }
  })
}

/** byModel has a sum a model, the most used first. Tool calls are of no model and
 * left out. */
export function byModel(rows: Row[]): Sum[] {
  return sumsBy(rows.filter((row) => row.model !== ''), (row) => row.model).sort((a, b) => b.input + b.output - (a.input + a.output))
}

/** topOf is a round number at or above the highest bar. */
export function topOf(highest: number): number {
  if (highest <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(highest))
  return ([1, 2, 2.5, 5, 10].find((n) => n * power >= highest) ?? 10) * power
}
