// Formulas in Markdown: $..$ and \(..\) in a line, $$..$$ and \[..\] on their own.
// KaTeX is loaded when the first formula is seen; until then its source stands
// there.
import type MarkdownIt from 'markdown-it'
import { shallowRef } from 'vue'

// A formula is short; the search for its end is not allowed to be long.
const longestFormula = 4000

type Katex = (typeof import('katex'))['default']

/** mathEngine is KaTeX once it is there. */
export const mathEngine = shallowRef<Katex>()

let loading = false

function load(): void {
  if (loading) return
  loading = true
  import('katex').then(
    (module) => (mathEngine.value = module.default),
    () => (loading = false), // the source stays; the next formula tries again
  )
}

const kept = new Map<string, string>()

/** formula is the HTML of a formula, for the sanitiser. */
export function formula(tex: string, display: boolean): string {
  const engine = mathEngine.value
  if (!engine) {
    load()
    return source(tex, display)
  }
  const key = (display ? '1' : '0') + tex
  let html = kept.get(key)
  if (html === undefined) {
    html = draw(engine, tex, display)
    if (kept.size > 500) kept.clear()
    kept.set(key, html)
  }
  return html
}

function draw(engine: Katex, tex: string, display: boolean): string {
  try {
    const html = engine.renderToString(tex, { output: 'mathml', displayMode: display, throwOnError: true, trust: false, strict: 'ignore', maxExpand: 200, maxSize: 20 })
    // The annotation repeats the source; the sanitiser would leave it as text.
    const bare = html.replace(/<annotation\b[^>]*>[^<]*<\/annotation>/g, '').replace(/<\/?semantics>/g, '')
    return display ? `<div class="md-formula" tabindex="0">${bare}</div>` : bare
  } catch {
    return source(tex, display)
  }
}

function source(tex: string, display: boolean): string {
  const text = escape(tex)
  return display ? `<pre class="md-tex" tabindex="0"><code>${text}</code></pre>` : `<code class="md-tex">${text}</code>`
}

/** escape makes text stand as it is in HTML. */
export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c)
}

/** mathPlugin adds formulas to a Markdown reader. */
export function mathPlugin(md: MarkdownIt): void {
  md.inline.ruler.before('escape', 'math', (state, silent) => {
    const found = inlineFormula(state.src, state.pos)
    if (!found) return false
    if (!silent) {
      const token = state.push('math', '', 0)
      token.content = found.tex
      token.meta = { display: found.display }
    }
    state.pos = found.end
    return true
  })
  md.block.ruler.before('fence', 'math_block', (state, first, last, silent) => {
    const line = (n: number) => state.src.slice((state.bMarks[n] ?? 0) + (state.tShift[n] ?? 0), state.eMarks[n])
    if ((state.sCount[first] ?? 0) - state.blkIndent >= 4) return false
    const open = /^(\$\$|\\\[)/.exec(line(first))?.[1]
    if (!open) return false
    const close = open === '$$' ? '$$' : '\\]'
    const parts: string[] = []
    for (let n = first; n < last; n++) {
      const text = n === first ? line(n).slice(2) : line(n)
      if (n > first && text.trim() === '') return false // no formula has a blank line
      const trimmed = text.trimEnd()
      const at = trimmed.indexOf(close)
      if (at >= 0 && at !== trimmed.length - 2) return false
      if (at < 0) {
        parts.push(text)
        continue
      }
      parts.push(trimmed.slice(0, at))
      const tex = parts.join('\n').trim()
      if (tex === '') return false
      if (silent) return true
      const token = state.push('math_block', '', 0)
      token.block = true
      token.content = tex
      token.map = [first, n + 1]
      state.line = n + 1
      return true
    }
    return false
  }, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
  md.renderer.rules['math'] = (tokens, i) => formula(tokens[i]?.content ?? '', false)
  md.renderer.rules['math_block'] = (tokens, i) => formula(tokens[i]?.content ?? '', true)
}

/** inlineFormula reads a formula of a line that begins at a place. Amounts of
 * dollars are none: a formula begins and ends without a blank, and no digit
 * follows it. */
export function inlineFormula(text: string, at: number): { tex: string; end: number; display: boolean } | undefined {
  const bounded = (open: number, close: string) => {
    const end = text.slice(at + open, at + longestFormula).indexOf(close)
    return end > 0 ? at + open + end : -1
  }
  if (text[at] === '\\') {
    if (text[at + 1] !== '(' && text[at + 1] !== '[') return undefined
    const end = bounded(2, text[at + 1] === '(' ? '\\)' : '\\]')
    return end < 0 ? undefined : { tex: text.slice(at + 2, end).trim(), end: end + 2, display: false }
  }
  if (text[at] !== '$') return undefined
  if (text[at + 1] === '$') {
    const end = bounded(2, '$$')
    return end < 0 ? undefined : { tex: text.slice(at + 2, end).trim(), end: end + 2, display: false }
  }
  if (/[\s$]/.test(text[at + 1] ?? ' ')) return undefined
  const most = Math.min(text.length, at + longestFormula)
  for (let end = at + 1; end < most; end++) {
    if (text[end] === '\\') end++
    else if (text[end] === '$') {
      if (/\s/.test(text[end - 1] ?? '') || /\d/.test(text[end + 1] ?? '')) return undefined
      return { tex: text.slice(at + 1, end), end: end + 1, display: false }
    }
  }
  return undefined
}
