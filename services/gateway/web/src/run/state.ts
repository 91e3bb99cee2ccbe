// What a reader knows of a run: a pure function of the events that it has seen.
import type { Message, Notice, RunError, RunEvents, Step, ToolResult, Usage } from '@/api/wire'
import { noText, put, type Text } from './text'

export type CallStatus = 'writing' | 'pending' | 'running' | 'waiting_approval' | 'completed' | 'error' | 'denied' | 'cancelled' | 'unknown'

/** Call is one tool call of a round. */
export interface Call {
  /** Empty while its arguments are being written. */
  id: string
  ordinal: number
  name: string
  /** JSON text, perhaps not yet whole. */
  args: string
  status: CallStatus
  progress?: { message: string; done: number; total: number }
  result?: ToolResult
}

/** Round is one model call and the tools that it asked for. */
export interface Round {
  number: number
  thinking: Text
  text: Text
  calls: Call[]
}

export type RunStatus = 'starting' | 'running' | 'completed' | 'failed' | 'cancelled'

/** RunState is what is known of a run. */
export interface RunState {
  runId: string
  conversationId: string
  userMessageId: string
  messageId: string
  model: string
  traceId: string
  status: RunStatus
  rounds: Round[]
  notices: Notice[]
  usage?: Usage
  finishReason: string
  error?: RunError
  /** Number of the last logged event. */
  lastSeq: number
  /** A piece was missed: the run must be watched again from lastSeq. */
  gap: boolean
}

export const newRun: RunState = {
  runId: '', conversationId: '', userMessageId: '', messageId: '', model: '', traceId: '', status: 'starting',
  rounds: [], notices: [], finishReason: '', lastSeq: 0, gap: false,
}

/** ended says that nothing more will come. */
export function ended(s: RunState): boolean {
  return s.status === 'completed' || s.status === 'failed' || s.status === 'cancelled'
}

type Known = { [N in keyof RunEvents]: { name: N; seq: number; data: RunEvents[N] } }[keyof RunEvents]

/** RunEvent is an event of a run; seq is 0 for a live one. */
export type RunEvent = Known | { name: string; seq: number; data: unknown }

/** apply is the state after an event. Events that were seen already and those of
 * a name that nobody knows change nothing. */
export function apply(s: RunState, event: RunEvent): RunState {
  if (event.seq > 0) {
    if (event.seq <= s.lastSeq) return s
    s = { ...s, lastSeq: event.seq }
  }
  const e = event as Known
  switch (e.name) {
    case 'run_started':
      return { ...s, runId: e.data.run_id, conversationId: e.data.conversation_id, userMessageId: e.data.user_message_id, model: e.data.model, traceId: e.data.trace_id, status: 'running' }
    case 'thinking':
    case 'message':
      return piece(s, e.name === 'thinking' ? 'thinking' : 'text', e.data.round, e.data.offset, e.data.content)
    case 'tool_args':
      return inRound(s, e.data.round, (r) => ({ ...r, calls: write(r.calls, e.data) }))
    case 'tool_call':
      return inRound(s, e.data.round, (r) => ({
        ...r,
        calls: e.data.calls.map((c, ordinal) => ({
          ...r.calls.find((known) => known.id === c.id),
          id: c.id, ordinal, name: c.function?.name ?? '', args: c.function?.arguments ?? '', status: 'pending' as const,
        })),
      }))
    case 'tool_progress':
      return inCall(s, e.data.tool_call_id, (c) => finished(c) ? c : { ...c, status: 'running', progress: e.data })
    case 'tool_result':
      return e.data.results.reduce((state, result) => inCall(state, result.tool_call_id, (c) => ({ ...c, status: statusOf(result), result })), s)
    case 'approval_required':
      return inCall(s, e.data.tool_call_id, (c) => ({ ...c, status: 'waiting_approval' }))
    case 'approval_decided':
      return inCall(s, e.data.tool_call_id, (c) => ({ ...c, status: e.data.decision === 'approved' ? 'running' : 'denied' }))
    case 'usage':
      return { ...s, usage: e.data.total }
    case 'notice':
      return { ...s, notices: [...s.notices, e.data] }
    case 'round_restarted':
      return { ...s, rounds: s.rounds.filter((r) => r.number < e.data.round) }
    case 'done':
      return settle({ ...s, status: e.data.finish_reason === 'cancelled' ? 'cancelled' : 'completed', messageId: e.data.message_id, model: e.data.model || s.model, finishReason: e.data.finish_reason, usage: e.data.usage ?? s.usage })
    case 'error':
      return settle({ ...s, status: 'failed', error: e.data })
    default:
      return s
  }
}

function piece(s: RunState, kind: 'thinking' | 'text', round: number, offset: number, content: string): RunState {
  const known = s.rounds.find((r) => r.number === round)?.[kind] ?? noText
  const text = put(known, offset, content)
  if (!text) return { ...s, gap: true }
  return inRound(s, round, (r) => ({ ...r, [kind]: text }))
}

function inRound(s: RunState, number: number, change: (r: Round) => Round): RunState {
  const known = s.rounds.some((r) => r.number === number)
  const rounds = known ? s.rounds : [...s.rounds, { number, thinking: noText, text: noText, calls: [] }].sort((a, b) => a.number - b.number)
  return { ...s, rounds: rounds.map((r) => (r.number === number ? change(r) : r)) }
}

function inCall(s: RunState, id: string, change: (c: Call) => Call): RunState {
  if (!s.rounds.some((r) => r.calls.some((c) => c.id === id))) return s
  return { ...s, rounds: s.rounds.map((r) => (r.calls.some((c) => c.id === id) ? { ...r, calls: r.calls.map((c) => (c.id === id ? change(c) : c)) } : r)) }
}

// write is for a call whose arguments are being written.
function write(calls: Call[], data: RunEvents['tool_args']): Call[] {
  const known = calls.find((c) => c.ordinal === data.ordinal)
  if (known && known.status !== 'writing') return calls
  const call: Call = { id: '', ordinal: data.ordinal, name: data.name || known?.name || '', args: data.arguments, status: 'writing' }
  return known ? calls.map((c) => (c === known ? call : c)) : [...calls, call]
}

function finished(c: Call): boolean {
  return c.result !== undefined
}

/** statusOf reads from a result how its call ended. */
export function statusOf(result: ToolResult): CallStatus {
  if (!result.is_error) return 'completed'
  switch (reasonOf(result.content)) {
    case 'TOOL_DISABLED':
    case 'APPROVAL_UNAVAILABLE':
    case 'APPROVAL_DENIED':
    case 'NEEDS_APPROVAL':
    case 'TOO_MANY_CALLS':
      return 'denied'
    case 'CANCELLED':
      return 'cancelled'
    case 'OUTCOME_UNKNOWN':
      return 'unknown'
  }
  return 'error'
}

/** reasonOf is the reason of a failure in the JSON text of a result. */
export function reasonOf(content: string): string {
  try {
    const parsed = JSON.parse(content) as { error?: { reason?: string } } | null
    return parsed?.error?.reason ?? ''
  } catch {
    return ''
  }
}

// settle ends what cannot go on any more.
function settle(s: RunState): RunState {
  return {
    ...s,
    rounds: s.rounds.map((r) => ({ ...r, calls: r.calls.filter((c) => c.status !== 'writing').map((c) => (finished(c) ? c : { ...c, status: 'cancelled' as const })) })),
  }
}

/** fromMessage makes the state of a run that ended from its stored answer. */
export function fromMessage(m: Message): RunState {
  let s: RunState = {
    ...newRun, runId: m.run_id, conversationId: m.conversation_id, messageId: m.id, model: m.model, finishReason: m.finish_reason,
    usage: m.usage, error: m.error, traceId: m.error?.trace_id ?? '', status: m.error ? 'failed' : m.finish_reason === 'cancelled' ? 'cancelled' : 'completed',
  }
  for (const step of m.steps) s = addStep(s, step)
  return settle(s)
}

function addStep(s: RunState, step: Step): RunState {
  switch (step.type) {
    case 'thinking':
      return piece(s, 'thinking', step.round, 0, step.content)
    case 'text':
      return piece(s, 'text', step.round, 0, step.content)
    case 'tool_call': {
      const call = step.call
      if (!call) return s
      return inRound(s, step.round, (r) => ({
        ...r,
        calls: [...r.calls, { id: call.id, ordinal: r.calls.length, name: call.function?.name ?? '', args: call.function?.arguments ?? '', status: 'pending' }],
      }))
    }
    case 'tool_result': {
      const result = step.result
      return result ? inCall(s, result.tool_call_id, (c) => ({ ...c, status: statusOf(result), result })) : s
    }
  }
  return s
}
