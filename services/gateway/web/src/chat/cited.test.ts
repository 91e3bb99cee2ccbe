import { describe, expect, it } from 'vitest'
import { apply, newRun, type RunState } from '@/run/state'
import { Numbers, returnedBy, type Returned } from './cited'

const source = (url: string, title = ''): Returned => ({ url, title, snippet: '', date: '', tool: 'web_search' })
const numbers = (...urls: string[]) => {
  const n = new Numbers()
  n.know(urls.map((u) => source(u)))
  return n
}

function run(results: { name: string; content: unknown; is_error?: boolean }[]): RunState {
  let s = apply(newRun, { name: 'tool_call', seq: 1, data: { round: 1, calls: results.map((r, i) => ({ id: `c${i}`, type: 'function', function: { name: r.name, arguments: '{}' } })) } })
  s = apply(s, { name: 'tool_result', seq: 2, data: { round: 1, results: results.map((r, i) => ({ role: 'tool', tool_call_id: `c${i}`, name: r.name, content: JSON.stringify(r.content), is_error: r.is_error ?? false, duration_ms: 1, truncated: false, result_id: '', trace_id: '' })) } })
  return s
}

describe('sources', () => {
  it('are what tools returned, each once, with the title that some tool knew', () => {
    const s = run([
      { name: 'fetch_page', content: { url: 'https://a.example/x', content: { text: '' }, metadata: { title: '' } } },
      { name: 'web_search', content: { results: [{ title: 'A', url: 'https://a.example/x/' }, { title: 'B', url: 'https://b.example' }] } },
      { name: 'fetch_page', content: { success: false, error: { reason: 'X' } }, is_error: true },
    ])
    expect(returnedBy(s).map((c) => [c.url, c.title, c.tool])).toEqual([['https://a.example/x', 'A', 'fetch_page'], ['https://b.example', 'B', 'web_search']])
  })
  it('stay the same list when nothing was added', () => {
    const s = run([{ name: 'web_search', content: { results: [{ title: 'A', url: 'https://a.example' }] } }])
    const before = returnedBy(s)
    expect(returnedBy({ ...s }, before)).toBe(before)
  })
  it('are numbered in the order in which they are named', () => {
    const n = numbers('https://a.example', 'https://b.example', 'https://c.example')
    expect([n.of('https://c.example/'), n.of('https://a.example#part'), n.of('https://c.example')]).toEqual([1, 2, 1])
    expect(n.cited().map((s) => s.url)).toEqual(['https://c.example', 'https://a.example'])
  })
  it('are no pages that no tool returned', () => {
    const n = numbers('https://a.example')
    expect([n.of('https://a.example/other'), n.of('javascript:x'), n.of('')]).toEqual([undefined, undefined, undefined])
  })
  it('are found in a whole text, and none that is only the beginning of another', () => {
    const n = numbers('https://a.example', 'https://a.example/deep', 'https://b.example')
    n.read('See [b](https://b.example/) and https://a.example/deep.')
    expect(n.cited().map((s) => [s.n, s.url])).toEqual([[1, 'https://b.example'], [2, 'https://a.example/deep']])
  })
})
