import { shallowRef } from 'vue'
import type { ToolResult } from '@/api/wire'

/** Done is a call of this session with what came of it. */
export interface Done {
  id: number
  tool: string
  args: string
  result: ToolResult
  at: number
}

// It is gone with the page: what was run stands on the server, too.
export const history = shallowRef<Done[]>([])
const most = 30
let last = 0

export function remember(tool: string, args: string, result: ToolResult): Done {
  const done = { id: ++last, tool, args, result, at: Date.now() }
  history.value = [done, ...history.value].slice(0, most)
  return done
}

export function forget(): void {
  history.value = []
}
