// A run drawn on a line of time: its rounds, and in them the model and the tools.
import type { Run } from '@/api/wire'

/** Span is one bar. Times are milliseconds from the beginning of the run. */
export interface Span {
  id: string
  kind: 'run' | 'round' | 'model' | 'tool'
  name: string
  round: number
  status: string
  start: number
  /** Where it ended; for what still goes on, now. */
  end: number
  /** It never began. */
  idle: boolean
  attempt: number
  /** It came to the arguments of a call, not to an answer. */
  corrector: boolean
  input: number
  output: number
  traceId: string
  /** Depth in the tree, from 0. */
  depth: number
}

export interface Layout {
  spans: Span[]
  /** Length of the line, at least 1 ms. */
  length: number
}

/** layoutOf draws a run as it stands at a time. */
export function layoutOf(run: Run, now: number): Layout {
  const calls = [...(run.model_calls ?? []).map(modelSpan), ...(run.tool_calls ?? []).map(toolSpan)]
  const created = at(run.created_at)
  const begin = Math.min(...[created, ...calls.map((c) => c.from)].filter((t): t is number => t !== undefined), Infinity)
  const zero = Number.isFinite(begin) ? begin : now
  const ended = at(run.ended_at)
  const until = ended ?? (over(run.status) ? Math.max(zero, ...calls.map((c) => (c.from ?? zero) + c.took)) : now)

  const placed = calls.map((c) => place(c, zero, until))
  const end = Math.max(until - zero, ...placed.map((s) => s.end), 0)
  const spans: Span[] = [{ ...blank, id: 'run', kind: 'run', status: run.status, end, input: run.usage?.input_tokens ?? 0, output: run.usage?.output_tokens ?? 0, traceId: run.trace_id }]
  const rounds = [...new Set(placed.map((s) => s.round))].sort((a, b) => a - b)
  for (const round of rounds) {
    const inside = placed.filter((s) => s.round === round)
    spans.push(roundSpan(round, inside), ...inside)
  }
  return { spans, length: Math.max(1, end) }
}

interface Call extends Span {
  from: number | undefined
  took: number
}

const blank: Span = { id: '', kind: 'run', name: '', round: 0, status: '', start: 0, end: 0, idle: false, attempt: 1, corrector: false, input: 0, output: 0, traceId: '', depth: 0 }

function modelSpan(call: NonNullable<Run['model_calls']>[number]): Call {
  return {
    ...blank, id: `model-${call.round}-${call.attempt}`, kind: 'model', name: call.model, round: call.round, status: call.status, attempt: call.attempt,
    corrector: call.corrector, input: call.input_tokens, output: call.output_tokens, depth: 2, from: at(call.started_at), took: call.duration_ms,
  }
}

function toolSpan(call: NonNullable<Run['tool_calls']>[number]): Call {
  return {
    ...blank, id: `tool-${call.id}`, kind: 'tool', name: call.name, round: call.round, status: call.status, attempt: call.attempt,
    traceId: call.trace_id, depth: 2, from: at(call.started_at), took: call.duration_ms,
  }
}

function place({ from, took, ...span }: Call, zero: number, until: number): Span {
  if (from === undefined) return { ...span, idle: true }
  const start = Math.max(0, from - zero)
  const end = span.status === 'running' ? Math.max(start, until - zero) : start + took
  return { ...span, start, end }
}

function roundSpan(round: number, inside: Span[]): Span {
  const begun = inside.filter((s) => !s.idle)
  return {
    ...blank, id: `round-${round}`, kind: 'round', round, depth: 1, idle: begun.length === 0,
    status: begun.some((s) => s.status === 'running') ? 'running' : 'done',
    start: begun.length > 0 ? Math.min(...begun.map((s) => s.start)) : 0,
    end: Math.max(0, ...begun.map((s) => s.end)),
    input: inside.reduce((sum, s) => sum + s.input, 0),
    output: inside.reduce((sum, s) => sum + s.output, 0),
  }
}

function at(time: string | undefined): number | undefined {
  const ms = time ? Date.parse(time) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

/** over says that a run with this status has ended. */
export function over(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** ticksOf are round points on a line of a length, at most `most` of them. */
export function ticksOf(length: number, most: number): number[] {
  const rough = length / Math.max(1, most)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= rough) ?? rough
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, i) => i * step)
}
