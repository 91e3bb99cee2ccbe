// What a tool answered, read so that it can be shown. Results come from pages and
// programs that nobody vouches for: every field may be missing or something else.

/** Source is a page that a tool really returned. */
export interface Source {
  url: string
  title: string
  snippet: string
  date: string
}

export interface Program {
  status: string
  exitCode: number | undefined
  stdout: string
  stderr: string
  artifacts: { path: string; size: number; type: string }[]
}

export interface CrawlRow {
  url: string
  title: string
  error: string
}

/** PageTable is a table of a page, or a part of it. */
export interface PageTable {
  caption: string
  columns: string[]
  rows: string[][]
}

/** Shown is what a result is shown as. */
export type Shown =
  | { kind: 'nothing' }
  | { kind: 'failure'; reason: string; message: string; retryable: boolean }
  | { kind: 'search'; sources: Source[]; filtered: boolean; stale: boolean; altered: string; dropped: string[] }
  | { kind: 'page'; source: Source; status: number; text: string; tables: PageTable[]; links: { text: string; url: string }[]; images: { alt: string; url: string }[] }
  | { kind: 'crawl'; taskId: string; status: string; message: string; done: number; total: number; rows: CrawlRow[] }
  | { kind: 'program'; program: Program }
  | { kind: 'table'; columns: string[]; rows: string[][] }
  | { kind: 'image'; data: string }
  | { kind: 'text'; text: string }
  | { kind: 'json'; value: unknown }

/** Beyond this much text only a beginning is shown until more is asked for. */
export const longText = 100_000
/** That beginning. */
export const firstText = 50_000

type Fields = Record<string, unknown>

const fields = (v: unknown): Fields | undefined => (typeof v === 'object' && v !== null && !Array.isArray(v) ? (v as Fields) : undefined)
const text = (v: unknown): string => (typeof v === 'string' ? v : typeof v === 'number' || typeof v === 'boolean' ? String(v) : '')
const number = (v: unknown): number | undefined => (typeof v === 'number' && Number.isFinite(v) ? v : undefined)
const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : [])
const each = (v: unknown): Fields[] => list(v).flatMap((item) => fields(item) ? [fields(item) as Fields] : [])

/** valueOf reads the JSON text of a result; what is none is a text. */
export function valueOf(content: string): unknown {
  try {
    return JSON.parse(content) as unknown
  } catch {
    return content
  }
}

/** shownAs decides what a result is shown as, by its shape: a tool of somebody
 * else that answers as ours do is shown as ours are. */
export function shownAs(content: string): Shown {
  if (content.trim() === '') return { kind: 'nothing' }
  const value = valueOf(content)
  if (typeof value === 'string') return picture(value) ?? (value === '' ? { kind: 'nothing' } : { kind: 'text', text: value })
  const all = fields(value)
  if (!all) return table(value) ?? { kind: 'json', value }
  return failure(all) ?? cut(all) ?? search(all) ?? program(all) ?? crawl(all) ?? page(all) ?? table(all['files'] ?? all['rows'] ?? all['items']) ?? words(all) ?? { kind: 'json', value }
}

function failure(all: Fields): Shown | undefined {
  const error = fields(all['error'])
  if (all['success'] !== false || !error) return undefined
  return { kind: 'failure', reason: text(error['reason']), message: text(error['message']), retryable: error['retryable'] === true }
}

// cut is what stands in the place of a result that is too long to be sent.
function cut(all: Fields): Shown | undefined {
  return all['truncated'] === true && typeof all['preview'] === 'string' && typeof all['result_id'] === 'string' ? { kind: 'text', text: all['preview'] } : undefined
}

function search(all: Fields): Shown | undefined {
  const results = each(all['results'])
  if (!Array.isArray(all['results']) || all['status'] !== undefined || (results.length > 0 && !results.every((r) => typeof r['url'] === 'string' && typeof r['title'] === 'string'))) return undefined
  return {
    kind: 'search',
    sources: results.map((r) => ({ url: text(r['url']), title: text(r['title']), snippet: text(r['snippet']), date: text(r['published_at']) })),
    filtered: all['outcome'] === 'EMPTY_AFTER_FILTER',
    stale: all['stale'] === true,
    altered: text(all['altered_query']),
    dropped: list(all['dropped_options']).map(text).filter((o) => o !== ''),
  }
}

function program(all: Fields): Shown | undefined {
  if (typeof all['stdout'] !== 'string' && typeof all['stderr'] !== 'string') return undefined
  return {
    kind: 'program',
    program: {
      status: text(all['status']), exitCode: number(all['exit_code']), stdout: text(all['stdout']), stderr: text(all['stderr']),
      artifacts: each(all['artifacts']).map((a) => ({ path: text(a['path']), size: number(a['size_bytes']) ?? 0, type: text(a['mime_type']) })),
    },
  }
}

function crawl(all: Fields): Shown | undefined {
  const taskId = text(all['task_id']) || (number(all['succeeded']) !== undefined && number(all['total']) !== undefined ? text(all['id']) : '')
  if (!taskId || typeof all['status'] !== 'string') return undefined
  const rows = [
    ...each(all['results']).map((r) => ({ url: text(r['url']), title: text(fields(fields(r['data'])?.['metadata'])?.['title']), error: '' })),
    ...each(all['errors']).map((r) => ({ url: text(r['url']), title: '', error: text(r['error']) || text(fields(r['error'])?.['message']) || text(r['reason']) })),
  ]
  const total = number(all['total']) ?? rows.length
  const done = number(all['progress']) ?? (number(all['succeeded']) ?? 0) + (number(all['failed']) ?? 0)
  return { kind: 'crawl', taskId, status: text(all['status']), message: text(all['message']), done: Math.min(done, total), total, rows }
}

function page(all: Fields): Shown | undefined {
  const content = fields(all['content'])
  const meta = fields(all['metadata'])
  if (!content || !meta || typeof all['url'] !== 'string') return undefined
  return {
    kind: 'page',
    source: { url: text(meta['final_url']) || all['url'], title: text(meta['title']), snippet: '', date: text(meta['published']) },
    status: number(meta['status_code']) ?? 0,
    text: pageText(content, meta),
    tables: each(content['tables']).map(pageTable),
    links: each(content['links']).map((l) => ({ text: text(l['text']), url: text(l['url']) })),
    images: each(content['images']).map((i) => ({ alt: text(i['alt']), url: text(i['src']) || text(i['url']) })),
  }
}

// pageText is what was read of a page where it is words, by whichever view.
function pageText(content: Fields, meta: Fields): string {
  const one = ['markdown', 'text', 'full_text', 'raw'].map((name) => text(content[name])).find((said) => said !== '')
  if (one) return one
  const feed = fields(content['feed'])
  if (feed) return each(feed['items']).map((i) => [text(i['title']), text(i['url']), text(i['summary'])].filter(Boolean).join('\n')).join('\n\n')
  const parts = fields(content['structured'])
  if (parts) {
    const headings = each(parts['headings']).map((h) => `${'#'.repeat(Math.min(number(h['level']) ?? 1, 6))} ${text(h['text'])}`)
    return [text(parts['title']), ...headings, ...list(parts['paragraphs']).map(text)].filter(Boolean).join('\n\n')
  }
  if (['links', 'images', 'tables'].some((name) => list(content[name]).length > 0)) return ''
  const about = ['byline', 'published', 'modified', 'language', 'site_name', 'description', 'canonical', 'page_type']
  return about.flatMap((name) => (text(meta[name]) ? [`${name}: ${text(meta[name])}`] : [])).join('\n')
}

function pageTable(all: Fields): PageTable {
  const rows = list(all['rows']).map((row) => list(fields(row)?.['cells'] ?? row).map(text))
  const header = all['header'] === true
  return { caption: text(all['caption']), columns: header ? (rows[0] ?? []) : [], rows: header ? rows.slice(1) : rows }
}

// table is for a list of things with the same few plain fields.
function table(value: unknown): Shown | undefined {
  const rows = each(value)
  if (rows.length < 1 || rows.length !== list(value).length || rows.length > 500) return undefined
  const columns = [...new Set(rows.flatMap((r) => Object.keys(r)))]
  const plain = rows.every((r) => Object.values(r).every((v) => v === null || ['string', 'number', 'boolean'].includes(typeof v)))
  if (!plain || columns.length > 8) return undefined
  return { kind: 'table', columns, rows: rows.map((r) => columns.map((c) => text(r[c]))) }
}

// words is for an answer whose only content is a text.
function words(all: Fields): Shown | undefined {
  for (const name of ['markdown', 'text', 'content', 'answer', 'output']) {
    const said = all[name]
    if (typeof said === 'string' && said !== '') return picture(said) ?? { kind: 'text', text: said }
  }
  const data = all['data']
  return typeof data === 'string' ? picture(data) : undefined
}

function picture(value: string): Shown | undefined {
  return /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]/.test(value) ? { kind: 'image', data: value } : undefined
}

/** sourcesOf are the pages that a result names: only these may be cited. */
export function sourcesOf(content: string): Source[] {
  const shown = shownAs(content)
  switch (shown.kind) {
    case 'search':
      return shown.sources
    case 'page':
      return [shown.source]
    case 'crawl':
      return shown.rows.filter((r) => !r.error).map((r) => ({ url: r.url, title: r.title, snippet: '', date: '' }))
  }
  return []
}

/** hostOf is the host of an address; empty for what is none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return ''
  }
}

/** summaryOf says in a few words what a call is about: its most telling argument. */
export function summaryOf(args: string): string {
  const all = fields(valueOf(args))
  if (!all) return ''
  for (const name of ['query', 'url', 'command', 'path', 'task_id', 'result_id', 'code', 'text']) {
    const said = text(all[name])
    if (said) return oneLine(said)
  }
  const urls = list(all['urls']).map(text).filter(Boolean)
  if (urls.length > 0) return urls.length === 1 ? oneLine(urls[0] ?? '') : `${oneLine(urls[0] ?? '')} +${urls.length - 1}`
  const first = Object.values(all).map(text).find(Boolean)
  return first ? oneLine(first) : ''
}

function oneLine(said: string): string {
  const line = said.trim().replace(/\s+/g, ' ')
  return line.length > 160 ? `${line.slice(0, 159)}…` : line
}

/** prettyArguments are arguments on several lines once they are whole, and as
 * they are until then. A program among them is shown apart. */
export function prettyArguments(args: string): { json: string; code?: { language: string; text: string } } {
  const all = fields(valueOf(args))
  if (!all) return { json: args }
  const code = all['code'] ?? all['command']
  if (typeof code !== 'string' || !code.includes('\n')) return { json: JSON.stringify(all, null, 2) }
  const { code: _code, command: _command, language: _language, ...others } = all
  return {
    json: Object.keys(others).length > 0 ? JSON.stringify(others, null, 2) : '',
    code: { language: text(all['language']) || 'bash', text: code },
  }
}
