// Reading a long result page by page, with the tool that models use for it.
import { request } from '@/api/http'
import type { ToolResult } from '@/api/wire'
import { valueOf } from './result'

/** Part is a piece of a result's text. */
export interface Part {
  text: string
  /** Where the next part begins; 0 at the end. */
  next: number
  total: number
}

const partSize = 20_000

/** readResult reads a part of a stored result from a character on. */
export async function readResult(resultId: string, offset: number, signal?: AbortSignal): Promise<Part> {
  const result = await request<ToolResult>('/api/tools/read_result/invoke', {
    method: 'POST', body: { arguments: { result_id: resultId, offset, max_chars: partSize } }, signal,
  })
  const value = valueOf(result.content) as { success?: boolean; markdown?: string; next_offset?: number; total_chars?: number; error?: { message?: string } } | null
  if (typeof value !== 'object' || value === null || result.is_error || typeof value.markdown !== 'string') {
    throw new Error((typeof value === 'object' && value?.error?.message) || result.content.slice(0, 500))
  }
  return { text: value.markdown, next: value.next_offset ?? 0, total: value.total_chars ?? 0 }
}
