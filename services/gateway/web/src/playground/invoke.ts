// Running one tool without a model.
import { APIError, request } from '@/api/http'
import type { Tool, ToolResult } from '@/api/wire'

/** Call is a tool with its arguments, as JSON text. */
export interface Call {
  tool: Pick<Tool, 'name' | 'effect' | 'sink'>
  args: string
  /** Says yes to exactly these arguments; from the question. */
  confirm?: string
}

/** Question is asked before a tool that changes something is run. */
export interface Question {
  args: string
  sha256: string
  message: string
}

/** keyOf keeps one key for one call until somebody answered: sent again after a
 * cut connection, the call is not made twice. */
export function keys(): { of: (call: Call) => string; answered: () => void } {
  let key = ''
  let of = ''
  return {
    of(call) {
      const asked = `${call.tool.name} ${call.args}`
      if (key === '' || of !== asked) key = crypto.randomUUID()
      of = asked
      return key
    },
    answered() {
      key = ''
    },
  }
}

/** invoke runs a tool, or answers the question that comes first. */
export async function invoke(call: Call, key: string, signal: AbortSignal): Promise<{ result: ToolResult } | { question: Question }> {
  const harmless = call.tool.sink === 'read' && call.tool.effect === 'pure'
  try {
    const result = await request<ToolResult>(`/api/tools/${encodeURIComponent(call.tool.name)}/invoke`, {
      method: 'POST',
      body: { arguments_json: call.args, ...(call.confirm ? { confirm_args_sha256: call.confirm } : {}) },
      headers: harmless ? {} : { 'Idempotency-Key': key },
      signal,
    })
    return { result }
  } catch (error) {
    if (error instanceof APIError && error.reason === 'APPROVAL_REQUIRED' && error.facts.args_sha256) {
      return { question: { args: call.args, sha256: error.facts.args_sha256, message: error.message } }
    }
    throw error
  }
}
