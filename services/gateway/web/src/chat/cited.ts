// The sources of an answer: pages that its tools really returned. They get their
// numbers in the order in which the answer names them.
import type { ToolResult } from '@/api/wire'
import type { RunState } from '@/run/state'
import { sourcesOf, type Source } from '@/tool/result'

export interface Returned extends Source {
  tool: string
}

export interface Cited extends Returned {
  n: number
}

const mostSources = 200
const known = new WeakMap<ToolResult, Source[]>()

/** returnedBy are the sources of a run. The list is the one before when nothing was
 * added, so that nothing is drawn anew. */
export function returnedBy(state: RunState, before?: Returned[]): Returned[] {
  const all = new Map<string, Returned>()
  for (const round of state.rounds) {
    for (const { result } of round.calls) {
      if (!result || result.is_error) continue
      let sources = known.get(result)
      if (!sources) known.set(result, (sources = sourcesOf(result.content)))
      for (const source of sources) {
        const key = plain(source.url)
        const one = all.get(key)
        if (one) one.title ||= source.title
        else if (key && all.size < mostSources) all.set(key, { ...source, tool: result.name })
      }
    }
  }
  const now = [...all.values()]
  return before && before.length === now.length && now.every((c, i) => c.url === before[i]?.url && c.title === before[i]?.title) ? before : now
}

/** Numbers gives sources their numbers. A number that was given stays. */
export class Numbers {
  private readonly given = new Map<string, number>()
  private sources = new Map<string, Returned>()

  /** know sets which sources there are. */
  know(sources: Returned[]): void {
    this.sources = new Map(sources.map((s) => [plain(s.url), s]))
  }

  /** of is the number of an address; undefined: no tool returned it. */
  of(address: string): number | undefined {
    const key = plain(address)
    if (!key || !this.sources.has(key)) return undefined
    let n = this.given.get(key)
    if (n === undefined) this.given.set(key, (n = this.given.size + 1))
    return n
  }

  /** read gives numbers to all sources that a text names, in its order. */
  read(text: string): void {
    const places: [number, string][] = []
    for (const key of this.sources.keys()) {
      const at = text.indexOf(key)
      if (at >= 0) places.push([at, key])
    }
    // Of two that begin at one place the longer is meant.
    for (const [, key] of places.sort((a, b) => a[0] - b[0] || b[1].length - a[1].length)) {
      if (new RegExp(`${key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/?(?![\\w/?=&%-])`).test(text)) this.of(key)
    }
  }

  /** cited are the sources with a number, in its order. */
  cited(): Cited[] {
    return [...this.given].flatMap(([key, n]) => {
      const source = this.sources.get(key)
      return source ? [{ ...source, n }] : []
    })
  }
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
