import { describe, expect, it } from 'vitest'
import type { CrawlResult } from '@/api/wire'
import { cell, contentText, csv, jsonl, markdown } from './export'

const nothing = { text: '', markdown: '', full_text: '', raw: '', links: [], images: [], tables: [] }

const page = (text: string, title = 'A page'): CrawlResult =>
  ({
    seq: 1, url: 'https://a.example/', ok: true, status_code: 200, attempts: 1, duration_ms: 12, fetched_at: '2026-01-31T00:00:00Z',
    data: { content: { ...nothing, text }, metadata: { title } },
  }) as unknown as CrawlResult
const failure = { seq: 2, url: 'https://b.example/', ok: false, status_code: 0, attempts: 3, duration_ms: 0, error: { url: '', error: 'no such host', reason: 'DNS' } } as CrawlResult

describe('cells of a table', () => {
  it.each([
    ['a formula', '=1+1', `"'=1+1"`],
    ['a call', '=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['a plus', '+1', `"'+1"`],
    ['a minus', "-2+3+cmd|' /C calc'!A0", `"'-2+3+cmd|' /C calc'!A0"`],
    ['an at', '@SUM(A1)', `"'@SUM(A1)"`],
    ['one behind spaces', '  =1', `"'  =1"`],
    ['one behind a line end', '\n=1', `"'\n=1"`],
    ['a full-width one', '＝1+1', `"'＝1+1"`],
    ['a tab', '\t=1', `"'\t=1"`],
    ['a plain text', 'text', 'text'],
    ['a comma and quotes', 'a,"b"', '"a,""b"""'],
    ['a number that is one', -5, '-5'],
    ['nothing', undefined, ''],
  ])('%s', (_, value, written) => {
    expect(cell(value)).toBe(written)
  })
})

describe('exports', () => {
  it('JSON Lines are the results, one a line', () => {
    const lines = jsonl([page('a\nb'), failure]).trimEnd().split('\n')
    expect(lines.map((l) => JSON.parse(l))).toEqual([page('a\nb'), failure])
  })
  it('a table has a row a result', () => {
    const rows = csv([page('x'), failure]).split('\r\n')
    expect(rows[0]).toBe('\uFEFFseq,url,ok,status_code,title,content,error,reason,attempts,duration_ms,fetched_at')
    expect(rows[1]).toBe('1,https://a.example/,true,200,A page,x,,,1,12,2026-01-31T00:00:00Z')
    expect(rows[2]).toBe('2,https://b.example/,false,0,,,no such host,DNS,3,0,')
  })
  it('Markdown of a page cannot leave its fence', () => {
    const text = markdown([page('```\n![x](https://evil.example/?q)\n```', '[x](javascript:1) <b>')])
    expect(text).toContain('## \\[x\\]\\(javascript:1\\) \\<b\\>')
    expect(text).toContain('````text\n```\n![x](https://evil.example/?q)\n```\n````\n')
  })
  it('a failure has its reason', () => {
    expect(markdown([failure])).toContain('- ` DNS: no such host `')
  })
})

describe('what was read of a page, as text', () => {
  const structured = { title: 'T', meta: {}, headings: [{ level: 2, text: 'H' }], paragraphs: ['P'] }
  const tables = [{ caption: 'Boats', header: true, rows: [{ cells: ['a', 'b\nc'] }, { cells: ['1', '2'] }], total_rows: 2 }]
  const feed = { title: 'F', items: [{ title: 'one', url: 'https://a.example/1', summary: 'said' }, { title: 'two', url: '', summary: '' }] }
  it.each<[string, object, string]>([
    ['text', { text: 'words' }, 'words'],
    ['markdown', { markdown: '# words' }, '# words'],
    ['full_text', { full_text: 'Home words' }, 'Home words'],
    ['raw', { raw: '<p>words' }, '<p>words'],
    ['links', { links: [{ text: 'x', url: 'https://a.example/x' }] }, 'https://a.example/x x'],
    ['images', { images: [{ alt: '', src: 'https://a.example/i.png' }] }, 'https://a.example/i.png'],
    ['tables', { tables }, 'Boats\na\tb c\n1\t2'],
    ['feed', { feed }, 'one\nhttps://a.example/1\nsaid\n\ntwo'],
    ['structured', { structured }, 'T\n\n## H\n\nP'],
    ['metadata', {}, 'byline: Ada\nlanguage: en'],
  ])('%s', (_, content, written) => {
    const result = { ...page(''), data: { content: { ...nothing, ...content }, metadata: { title: 'T', byline: 'Ada', published: '', language: 'en' } } } as unknown as CrawlResult
    expect(contentText(result)).toBe(written)
  })
})
