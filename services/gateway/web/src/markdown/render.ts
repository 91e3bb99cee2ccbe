// Markdown to HTML that may stand in the page.
import MarkdownIt, { type Token } from 'markdown-it'
import { escape, mathPlugin } from './math'
import { linkOf } from './sanitize'

/** Env is what reading and rendering know beside the text. */
export interface Env {
  /** Link definitions seen so far, by name. */
  references?: Record<string, { href: string; title: string }>
  /** Number of the source that has an address; undefined: it is no source. */
  cite?: (address: string) => number | undefined
}

/** A line of more characters than this has no markup. */
export const longestLine = 50_000

const md = new MarkdownIt({ html: false, linkify: true, typographer: false })
// Only what says that it is an address becomes one: README.md is none.
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
// What carries its own data is let through only to be shown without a link.
md.validateLink = (href) => linkOf(href) !== undefined || /^data:/i.test(href)
md.use(mathPlugin)

// Text that is endlessly long is shown as it is, at the cost of one step.
md.core.ruler.at('inline', (state) => {
  for (const token of state.tokens) {
    if (token.type !== 'inline') continue
    if (token.content.length > longestLine) {
      const plain = new state.Token('plain', '', 0)
      plain.content = token.content
      token.children = [plain]
    } else md.inline.parse(token.content, md, state.env, (token.children ??= []))
  }
})
md.renderer.rules['plain'] = (tokens, i) => escape(tokens[i]?.content ?? '')

// Items of a list of tasks.
md.core.ruler.push('tasks', (state) => {
  state.tokens.forEach((token, i) => {
    if (token.type !== 'inline' || state.tokens[i - 2]?.type !== 'list_item_open') return
    const first = token.children?.[0]
    if (first?.type === 'text') first.content = first.content.replace(/^\[([ xX])\]\s/, (_, mark: string) => (mark === ' ' ? '☐ ' : '☑ '))
  })
})

const rules = md.renderer.rules

// Pictures are never loaded by themselves: the address may carry away what the
// conversation says. A link with the host stands in their place.
rules['image'] = (tokens, i) => {
  const token = tokens[i]
  const to = linkOf(String(token?.attrGet('src') ?? ''))
  const words = escape(token?.content ?? '')
  if (!to || to.protocol === 'mailto:') return `<span class="md-image">${words}</span>`
  return `<a class="md-image" href="${escape(to.href)}">${words}<span class="md-host">${escape(to.host)}</span></a>`
}

rules['link_open'] = (tokens, i, _options, env: Env) => {
  const href = String(tokens[i]?.attrGet('href') ?? '')
  const n = env.cite?.(href)
  const close = closing(tokens, i)
  // An address that stands for itself becomes the number of its source.
  if (n !== undefined && tokens[i]?.info === 'auto') {
    for (const inner of tokens.slice(i + 1, close)) inner.hidden = true
    const text = tokens[i + 1]
    if (text) text.content = String(n)
    return `<a class="md-cite" data-cite="${n}" href="${escape(href)}">`
  }
  const last = tokens[close]
  if (n !== undefined && last) last.meta = { cite: n, href }
  return `<a href="${escape(href)}">`
}

rules['link_close'] = (tokens, i) => {
  const cited = tokens[i]?.meta as { cite: number; href: string } | null | undefined
  return cited ? `</a><a class="md-cite" data-cite="${cited.cite}" href="${escape(cited.href)}">${cited.cite}</a>` : '</a>'
}

function closing(tokens: Token[], open: number): number {
  for (let i = open + 1; i < tokens.length; i++) if (tokens[i]?.type === 'link_close') return i
  return tokens.length
}

// The page has headings of its own above those of a text.
for (const side of ['heading_open', 'heading_close'] as const) {
  rules[side] = (tokens, i) => {
    const level = Number(tokens[i]?.tag.slice(1))
    const tag = `h${Math.min(6, level + 2)}`
    return side === 'heading_open' ? `<${tag} class="md-h${level}">` : `</${tag}>`
  }
}

rules['table_open'] = () => '<div class="md-table" tabindex="0"><table>'
rules['table_close'] = () => '</table></div>'
for (const tag of ['td', 'th'] as const) {
  rules[`${tag}_open`] = (tokens, i) => {
    const side = /text-align:(\w+)/.exec(String(tokens[i]?.attrGet('style') ?? ''))?.[1]
    return side ? `<${tag} class="md-${side}">` : `<${tag}>`
  }
}

// Code inside a list or a quotation; that of the first level is no HTML at all
// (CodeBlock.vue).
rules['fence'] = (tokens, i) => {
  const token = tokens[i]
  return `<pre class="md-code" tabindex="0" data-lang="${escape(languageOf(token?.info ?? ''))}"><code>${escape(token?.content ?? '')}</code></pre>`
}
rules['code_block'] = (tokens, i) => `<pre class="md-code" tabindex="0"><code>${escape(tokens[i]?.content ?? '')}</code></pre>`

/** languageOf is the language that a fence names. */
export function languageOf(info: string): string {
  return /^[\w+#.-]{1,32}/.exec(info.trim())?.[0].toLowerCase() ?? ''
}

/** read makes tokens; env gathers the link definitions. */
export function read(text: string, env: Env): Token[] {
  return md.parse(text, env)
}

/** draw makes HTML of tokens, which sanitize() has to see before it is shown. */
export function draw(tokens: Token[], env: Env): string {
  return md.renderer.render(tokens, md.options, env)
}
