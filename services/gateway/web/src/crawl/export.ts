// Results of a crawl as files. Everything in them was written by strangers.
import type { CrawlResult } from '@/api/wire'

/** Format is a kind of file that results can be saved as. */
export type Format = 'jsonl' | 'csv' | 'md'

export const formats: Record<Format, { name: string; type: string; write: (results: CrawlResult[]) => string }> = {
  jsonl: { name: 'JSON Lines', type: 'application/x-ndjson', write: jsonl },
  csv: { name: 'CSV', type: 'text/csv;charset=utf-8', write: csv },
  md: { name: 'Markdown', type: 'text/markdown;charset=utf-8', write: markdown },
}

/** jsonl writes one result a line, as it is on the wire. */
export function jsonl(results: CrawlResult[]): string {
  return results.map((result) => JSON.stringify(result) + '\n').join('')
}

/** csv writes a table as RFC 4180 says. It begins with the mark by which
 * spreadsheets know UTF-8. */
export function csv(results: CrawlResult[]): string {
  const rows: unknown[][] = [['seq', 'url', 'ok', 'status_code', 'title', 'content', 'error', 'reason', 'attempts', 'duration_ms', 'fetched_at']]
  for (const r of results) {
    rows.push([r.seq, r.url, r.ok, r.status_code, r.data?.metadata?.title, contentText(r), r.error?.error, r.error?.reason, r.attempts, r.duration_ms, r.fetched_at])
  }
  return '\uFEFF' + rows.map((row) => row.map(cell).join(',') + '\r\n').join('')
}

/** cell guards what a spreadsheet would run as a formula, and quotes what has to
 * be quoted (owasp.org/www-community/attacks/CSV_Injection). */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  let text = String(value)
  if (/^[\s\u200B\uFEFF]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r]/.test(text)) text = `'${text}`
  return /[",;\r\n\t']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** markdown writes a chapter a page. The content stands in a fence, so that what a
 * page says can neither be a link nor a picture. */
export function markdown(results: CrawlResult[]): string {
  return results.map(chapter).join('\n')
}

function chapter(r: CrawlResult): string {
  const title = line(r.data?.metadata?.title || r.url)
  const about = `- ${code(r.url)}\n- HTTP ${r.status_code || '–'}, ${r.fetched_at ?? ''}\n`
  if (!r.ok) return `## ${title}\n\n${about}- ${code(`${r.error?.reason ?? ''}: ${r.error?.error ?? ''}`)}\n`
  const text = contentText(r)
  const fence = '`'.repeat(Math.max(3, longestTicks(text) + 1))
  return `## ${title}\n\n${about}\n${fence}text\n${text.trimEnd()}\n${fence}\n`
}

// A text in one line in which nothing is Markdown.
function line(text: string): string {
  return text.replace(/\s+/g, ' ').trim().replace(/[\\`*_{}[\]()#+!<>|~&-]/g, '\\$&')
}

function code(text: string): string {
  const plain = text.replace(/\s+/g, ' ').trim()
  const ticks = '`'.repeat(longestTicks(plain) + 1)
  return `${ticks} ${plain} ${ticks}`
}

function longestTicks(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map((run) => run[0].length))
}

/** contentText is what was read of a page, as text. */
export function contentText(r: CrawlResult): string {
  const content = r.data?.content
  if (!content) return ''
  const text = pageText(content)
  if (text) return text
  if (content.links.length > 0) return content.links.map((l) => `${l.url} ${l.text}`.trim()).join('\n')
  if (content.images.length > 0) return content.images.map((i) => `${i.src} ${i.alt}`.trim()).join('\n')
  if (content.tables.length > 0) return content.tables.map(tableText).join('\n\n')
  if (content.feed) return content.feed.items.map((i) => [i.title, i.url, i.summary].filter(Boolean).join('\n')).join('\n\n')
  const parts = content.structured
  if (!parts) return aboutPage(r.data?.metadata).map(([name, value]) => `${name}: ${value}`).join('\n')
  const headings = parts.headings.map((h) => `${'#'.repeat(h.level)} ${h.text}`)
  return [parts.title, ...headings, ...parts.paragraphs].filter(Boolean).join('\n\n')
}

type Content = NonNullable<NonNullable<CrawlResult['data']>['content']>

/** pageText is the content of a page where it is one text. */
export function pageText(content: Content): string {
  return content.text || content.markdown || content.full_text || content.raw
}

// A table with its cells apart by tabs.
function tableText(table: Content['tables'][number]): string {
  const rows = table.rows.map((row) => row.cells.map((c) => c.replace(/\s+/g, ' ')).join('\t'))
  return [table.caption, ...rows].filter(Boolean).join('\n')
}

const aboutFields = ['byline', 'published', 'modified', 'language', 'site_name', 'description', 'canonical', 'page_type'] as const

/** aboutPage is what a page says about itself, as far as it does. */
export function aboutPage(metadata: NonNullable<CrawlResult['data']>['metadata']): [(typeof aboutFields)[number], string][] {
  return aboutFields.flatMap((name): [typeof name, string][] => (metadata?.[name] ? [[name, metadata[name]]] : []))
}
