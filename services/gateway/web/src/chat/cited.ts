// The sources of an answer: pages that its tools really returned, numbered in the
// order in which they came.
import type { ToolResult } from '@/api/wire'
import type { RunState } from '@/run/state'
import { sourcesOf, type Source } from '@/tool/result'

export interface Cited extends Source {
  n: number
  tool: string
}

const mostSources = 200
const known = new WeakMap<ToolResult, Source[]>()

/** citedOf are the sources of a run. The list is the one before when nothing was
 * added, so that nothing is drawn anew. */
export function citedOf(state: RunState, before?: Cited[]): Cited[] {
  const all = new Map<string, Cited>()
  for (const round of state.rounds) {
    for (const { result } of round.calls) {
      if (!result || result.is_error) continue
      let sources = known.get(result)
      if (!sources) known.set(result, (sources = sourcesOf(result.content)))
      for (const source of sources) {
        const key = plain(source.url)
        const one = all.get(key)
        if (one) one.title ||= source.title
        else if (key && all.size < mostSources) all.set(key, { ...source, n: all.size + 1, tool: result.name })
      }
    }
  }
  const now = [...all.values()]
  return before && before.length === now.length && now.every((c, i) => c.url === before[i]?.url && c.title === before[i]?.title) ? before : now
}

/** numbering finds the number of a source by its address; undefined: there is
 * nothing to cite. */
export function numbering(sources: Cited[]): ((address: string) => number | undefined) | undefined {
  if (sources.length === 0) return undefined
  const numbers = new Map(sources.map((s) => [plain(s.url), s.n]))
  return (address) => numbers.get(plain(address))
}

/** citedIn are the sources that a text names. */
export function citedIn(text: string, sources: Cited[]): Cited[] {
  return sources.filter((s) => text.includes(s.url) || text.includes(plain(s.url)))
}

// plain is an address without what makes no difference.
function plain(address: string): string {
  try {
    const url = new URL(address)
    if (url.protocol !== 'https:' && url.protocol !== 'http:') return ''
    url.hash = ''
    return url.href.replace(/\/$/, '')
  } catch {
    return ''
  }
}
