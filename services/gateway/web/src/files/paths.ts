/** nameOf is the last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Crumb is a folder on the way to another. */
export interface Crumb {
  name: string
  path: string
}

/** crumbsOf are the folders on the way, the last one included. */
export function crumbsOf(path: string): Crumb[] {
  const names = path.split('/').filter(Boolean)
  return names.map((name, i) => ({ name, path: names.slice(0, i + 1).join('/') }))
}

/** contentAddress is where the bytes of a file are read. */
export function contentAddress(workspace: string, path: string): string {
  return `/api/workspaces/${encodeURIComponent(workspace)}/files/content?${new URLSearchParams({ path })}`
}

/** View is how a file is looked at. */
export type View = 'image' | 'table' | 'text' | 'none'

const images = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** viewOf goes by the type that the server told from the bytes. A drawing that can
 * carry scripts is text. */
export function viewOf(path: string, mime: string): View {
  const type = mime.split(';')[0]?.trim() ?? ''
  if (images.has(type)) return 'image'
  if (type === 'text/csv' || type === 'text/tab-separated-values') return 'table'
  if (type.startsWith('text/')) return /\.(csv|tsv)$/i.test(path) ? 'table' : 'text'
  return type === 'image/svg+xml' || /[/+](json|xml|javascript|yaml|toml|x-sh|x-ndjson)$/.test(type) ? 'text' : 'none'
}

/** imageTypeOf guesses by the name; '' for what is no picture. The bytes have the
 * last word. */
export function imageTypeOf(path: string): string {
  const end = /\.(png|jpe?g|gif|webp)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  return end && `image/${end === 'jpg' ? 'jpeg' : end}`
}

/** isPicture says that a browser may show bytes of this type. */
export function isPicture(mime: string): boolean {
  return images.has(mime)
}

const languages: Record<string, string> = {
  c: 'c', cc: 'cpp', cpp: 'cpp', css: 'css', diff: 'diff', go: 'go', htm: 'html', html: 'html', ini: 'ini', java: 'java', js: 'javascript', json: 'json', jsonl: 'json',
  md: 'markdown', mjs: 'javascript', php: 'php', proto: 'proto', py: 'python', rb: 'ruby', rs: 'rust', sh: 'bash', sql: 'sql', svg: 'html', toml: 'toml', ts: 'typescript',
  tsx: 'tsx', vue: 'html', xml: 'html', yaml: 'yaml', yml: 'yaml',
}

/** languageOf names the language of a file of code; empty for any other text. */
export function languageOf(path: string): string {
  return languages[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''] ?? ''
}
