import { describe, expect, it } from 'vitest'
import { hostOf, prettyArguments, shownAs, sourcesOf, summaryOf } from './result'

const shown = (value: unknown) => shownAs(JSON.stringify(value))

describe('a result is shown', () => {
  it.each<[string, unknown, object]>([
    ['as a failure', { success: false, error: { reason: 'TIMEOUT', message: 'too slow', retryable: true } }, { kind: 'failure', reason: 'TIMEOUT', message: 'too slow', retryable: true }],
    ['as a list of sources', { success: true, results: [{ title: 'T', url: 'https://a.example', snippet: 'S', published_at: '2026-01-01' }] }, { kind: 'search', sources: [{ title: 'T', url: 'https://a.example', snippet: 'S', date: '2026-01-01' }] }],
    ['as no sources when there are none', { success: true, results: [] }, { kind: 'search', sources: [], filtered: false, stale: false, altered: '', dropped: [] }],
    ['as a search with what has to be said of it', { success: true, outcome: 'EMPTY_AFTER_FILTER', stale: true, altered_query: 'tea', dropped_options: ['news', 'page'], results: [] }, { kind: 'search', sources: [], filtered: true, stale: true, altered: 'tea', dropped: ['news', 'page'] }],
    ['as a page', { success: true, url: 'https://a.example', content: { text: 'words' }, metadata: { title: 'T', final_url: 'https://a.example/b' } }, { kind: 'page', source: { url: 'https://a.example/b', title: 'T', snippet: '', date: '' }, text: 'words' }],
    ...([
      ['markdown', { markdown: '# words' }, '# words'], ['full_text', { full_text: 'Home words' }, 'Home words'], ['raw', { raw: '<p>words' }, '<p>words'],
      ['feed', { feed: { items: [{ title: 'one', url: 'https://a.example/1', summary: 'said' }] } }, 'one\nhttps://a.example/1\nsaid'],
      ['structured', { structured: { title: 'T', headings: [{ level: 2, text: 'H' }], paragraphs: ['P'] } }, 'T\n\n## H\n\nP'],
      ['metadata', {}, 'byline: Ada'],
    ] as const).map(([view, content, said]): [string, unknown, object] =>
      [`as a page, of which ${view} was read`, { url: 'https://a.example', content, metadata: { title: 'T', byline: 'Ada' } }, { kind: 'page', text: said }]),
    ['as a page with the tables of it', { url: 'https://a.example', content: { tables: [{ caption: 'C', header: true, rows: [['a', 'b'], ['1', '2']] }, { rows: [{ cells: ['x'] }] }] }, metadata: {} },
      { kind: 'page', text: '', tables: [{ caption: 'C', columns: ['a', 'b'], rows: [['1', '2']] }, { caption: '', columns: [], rows: [['x']] }] }],
    ['as a crawl that was begun', { task_id: 't1', status: 'pending', message: 'begun' }, { kind: 'crawl', taskId: 't1', status: 'pending', message: 'begun' }],
    ['as a crawl with its pages', { id: 't1', percent: 100, status: 'completed', total: 2, succeeded: 1, failed: 1, results: [{ url: 'https://a.example', data: { metadata: { title: 'A' } } }], errors: [{ url: 'https://b.example', error: 'gone' }] },
      { kind: 'crawl', taskId: 't1', done: 2, total: 2, rows: [{ url: 'https://a.example', title: 'A', error: '' }, { url: 'https://b.example', title: '', error: 'gone' }] }],
    ['as the output of a program', { status: 'completed', exit_code: 1, stdout: 'a', stderr: 'b', artifacts: [{ path: 'x.png', size_bytes: 3, mime_type: 'image/png' }] },
      { kind: 'program', program: { status: 'completed', exitCode: 1, stdout: 'a', stderr: 'b', artifacts: [{ path: 'x.png', size: 3, type: 'image/png' }] } }],
    ['as a table', [{ a: 1, b: 'x' }, { a: 2, b: null }], { kind: 'table', columns: ['a', 'b'], rows: [['1', 'x'], ['2', '']] }],
    ['as a picture', 'data:image/png;base64,AAAA', { kind: 'image', data: 'data:image/png;base64,AAAA' }],
    ['as its words', { success: true, markdown: '# words' }, { kind: 'text', text: '# words' }],
    ['by its beginning when it is too long', { truncated: true, result_id: 'r', total_chars: 9, preview: 'beg' }, { kind: 'text', text: 'beg' }],
    ['as what it is', { a: { b: 1 } }, { kind: 'json', value: { a: { b: 1 } } }],
  ])('%s', (_, value, expected) => expect(shown(value)).toMatchObject(expected))

  it('as text when it is no JSON, and as nothing when it is empty', () => {
    expect(shownAs('plain')).toEqual({ kind: 'text', text: 'plain' })
    expect(shownAs(' ')).toEqual({ kind: 'nothing' })
  })
  it('as no picture when it is a document', () => {
    expect(shown('data:image/svg+xml,<svg onload=x>').kind).toBe('text')
    expect(shown('data:text/html;base64,AAAA').kind).toBe('text')
  })
  it.each<[unknown]>([
    [{ results: [1, null, 'x'] }], [{ results: { url: 1 } }], [{ stdout: 1, artifacts: 'x' }], [{ task_id: 1, status: 2 }], [{ url: 'x', content: [], metadata: null }],
    [{ success: false, error: 'words' }], [null], [[]], [0], [[[]]], [{ errors: [{ url: {}, error: {} }], task_id: 't', status: 's' }],
  ])('somehow, whatever it is: %j', (value) => expect(shown(value).kind).toBeTruthy())
})

describe('sources', () => {
  it('are what tools returned, and nothing that failed', () => {
    const crawl = { task_id: 't', status: 'completed', results: [{ url: 'https://a.example' }], errors: [{ url: 'https://b.example', error: 'x' }] }
    expect(sourcesOf(JSON.stringify(crawl)).map((s) => s.url)).toEqual(['https://a.example'])
    expect(sourcesOf('{"a":1}')).toEqual([])
  })
  it.each([['https://a.example:8080/x', 'a.example:8080'], ['none', '']])('%s has the host %j', (url, host) => expect(hostOf(url)).toBe(host))
})

describe('arguments', () => {
  it.each([
    ['{"query":"a\\n b","max_results":3}', 'a b'], ['{"urls":["https://a","https://b"]}', 'https://a +1'], ['{"n":3}', '3'], ['{"que', ''], ['[]', ''], ['', ''],
  ])('%s are about %j', (args, summary) => expect(summaryOf(args)).toBe(summary))
  it('are set out once they are whole', () => {
    expect(prettyArguments('{"a":1}').json).toBe('{\n  "a": 1\n}')
    expect(prettyArguments('{"a":').json).toBe('{"a":')
  })
  it('show a program apart', () => {
    expect(prettyArguments('{"language":"python","code":"a\\nb"}')).toEqual({ json: '', code: { language: 'python', text: 'a\nb' } })
  })
})
