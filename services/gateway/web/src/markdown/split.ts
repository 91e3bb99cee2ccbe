// A text that is being written, cut into blocks. What was written before the last
// two blocks is final: it is neither read nor rendered again, whatever comes.
import type { Token } from 'markdown-it'
import { draw, languageOf, read, type Env } from './render'
import { sanitize } from './sanitize'

/** Block is a paragraph, a list, a table..., or code on its own. */
export interface Block {
  /** Where it begins in the text; stays the same while the text grows. */
  readonly key: number
  /** HTML that may stand in the page; empty for code. */
  readonly html: string
  readonly code?: Code
}

/** Code is a fence or an indented block. */
export interface Code {
  readonly language: string
  readonly text: string
  /** Nothing more will be added. */
  readonly closed: boolean
}

// Fence is code whose end was not seen yet.
interface Fence {
  key: number
  language: string
  /** Where the code begins. */
  start: number
  /** Lines before this were searched for the end. */
  searched: number
  end: RegExp
}

/** Splitter cuts one text, which grows. */
export class Splitter {
  private text = ''
  private final: Block[] = []
  private shown: Block[] = []
  private offset = 0
  private fence: Fence | undefined
  private env: Env
  // What was drawn of each block, so that the same is not sanitised twice.
  private drawn = new Map<number, { raw: string; html: string }>()

  constructor(private readonly cite?: Env['cite']) {
    this.env = { cite }
  }

  /** update answers the blocks of the text so far. Blocks that did not change
   * are the same objects as before. */
  update(source: string): readonly Block[] {
    const text = plainEnds(source)
    if (!text.startsWith(this.text)) this.reset()
    this.text = text
    if (this.fence) {
      const open = this.continueFence(this.fence)
      if (open) return this.show([open])
    }
    const tail = text.slice(this.offset)
    const starts = lineStarts(tail)
    const tokens = group(read(mend(tail), this.env))
    const blocks = tokens.map((t) => this.block(t, tail, starts))
    const last = blocks.at(-1)
    const open = last?.code && !last.code.closed ? this.openFence(tokens.at(-1), tail, starts) : undefined
    // An open fence ends what is before it; otherwise the next line may still
    // change the last block, and that one the one before.
    const settled = open ? blocks.length - 1 : Math.max(0, blocks.length - 2)
    const kept = this.reuse(blocks)
    this.final = [...this.final, ...kept.slice(0, settled)]
    const first = blocks[settled]
    if (settled > 0 && first) this.offset = first.key
    if (!open) return this.show(kept.slice(settled))
    this.fence = open
    return this.show([this.continueFence(open) ?? (kept.at(-1) as Block)])
  }

  /** finish reads the whole text once more, because a definition at its end may
   * change a link at its beginning. Blocks that were right stay the same. */
  finish(source: string): readonly Block[] {
    const text = plainEnds(source)
    const env: Env = { cite: this.cite }
    const starts = lineStarts(text)
    const groups = group(read(text, env))
    this.offset = 0
    this.env = env
    const blocks = groups.map((t) => this.block(t, text, starts)).map((b) => (b.code && !b.code.closed ? { ...b, code: { ...b.code, closed: true } } : b))
    this.final = this.shown = this.reuse(blocks)
    this.text = text
    this.fence = undefined
    this.drawn.clear()
    return this.shown
  }

  private reset(): void {
    this.final = []
    this.shown = []
    this.drawn.clear()
    this.offset = 0
    this.fence = undefined
    this.env = { cite: this.cite }
  }

  private show(tail: Block[]): readonly Block[] {
    this.shown = [...this.final, ...tail]
    return this.shown
  }

  // reuse puts what is shown already in the place of what is equal to it.
  private reuse(blocks: Block[]): Block[] {
    const before = new Map(this.shown.map((b) => [b.key, b]))
    return blocks.map((b) => {
      const known = before.get(b.key)
      return known && same(known, b) ? known : b
    })
  }

  private block(tokens: Token[], text: string, starts: number[]): Block {
    const first = tokens[0] as Token
    const [from, to] = first.map ?? [0, 0]
    const key = this.offset + (starts[from] ?? 0)
    if (tokens.length === 1 && (first.type === 'fence' || first.type === 'code_block')) {
      const closed = first.type === 'code_block' || fenceEnd(first.markup).test(lineAt(text, starts, to - 1)) && to - 1 > from
      return { key, html: '', code: { language: first.type === 'fence' ? languageOf(first.info) : '', text: first.content.replace(/\n$/, ''), closed } }
    }
    const raw = draw(tokens, this.env)
    let known = this.drawn.get(key)
    if (known?.raw !== raw) this.drawn.set(key, (known = { raw, html: sanitize(raw) }))
    return { key, html: known.html }
  }

  // openFence is set once the line that begins the code is whole.
  private openFence(tokens: Token[] | undefined, tail: string, starts: number[]): Fence | undefined {
    const token = tokens?.[0]
    const from = token?.map?.[0]
    if (!token || from === undefined || token.type !== 'fence') return undefined
    const start = starts[from + 1]
    const begin = starts[from] ?? 0
    // What is indented loses its indent line by line: that is left to the reader.
    if (start === undefined || tail[begin] !== token.markup[0]) return undefined
    return { key: this.offset + begin, language: languageOf(token.info), start: this.offset + start, searched: this.offset + start, end: fenceEnd(token.markup) }
  }

  // continueFence is the code so far; undefined: it has ended.
  private continueFence(fence: Fence): Block | undefined {
    for (let at = fence.searched; ; ) {
      const newline = this.text.indexOf('\n', at)
      const line = this.text.slice(at, newline < 0 ? undefined : newline)
      if (fence.end.test(line)) {
        this.offset = fence.key
        this.fence = undefined
        return undefined
      }
      if (newline < 0) break
      at = fence.searched = newline + 1
    }
    return { key: fence.key, html: '', code: { language: fence.language, text: this.text.slice(fence.start).replace(/\n$/, ''), closed: false } }
  }
}

/** split answers the blocks of a text that is whole. */
export function split(text: string, cite?: Env['cite']): readonly Block[] {
  return new Splitter(cite).finish(text)
}

function same(a: Block, b: Block): boolean {
  return a.html === b.html && a.code?.text === b.code?.text && a.code?.language === b.code?.language && a.code?.closed === b.code?.closed
}

// group puts the tokens of each block of the first level together.
function group(tokens: Token[]): Token[][] {
  const out: Token[][] = []
  let depth = 0
  for (const token of tokens) {
    if (depth === 0) out.push([])
    out.at(-1)?.push(token)
    depth += token.nesting
  }
  return out
}

function fenceEnd(markup: string): RegExp {
  return new RegExp(`^ {0,3}\\${markup[0]}{${markup.length},}[ \\t]*$`)
}

function plainEnds(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

function lineAt(text: string, starts: number[], n: number): string {
  return text.slice(starts[n] ?? text.length, (starts[n + 1] ?? text.length + 1) - 1)
}

/** mend ends what the last line has begun, so that it does not show its marks
 * for a moment: emphasis, code, and a link whose address is not whole. */
export function mend(text: string): string {
  const at = text.lastIndexOf('\n') + 1
  const line = text.slice(at)
  if (line.length > 2000 || /^\s*(?:`{3}|~{3}|\$\$|\|)/.test(line)) return text
  const link = line.replace(/!?\[([^\][]*)\]\([^()\s]*$/, '$1')
  if (link !== line) return text.slice(0, at) + link
  const ticks = line.match(/`/g)?.length ?? 0
  if (ticks % 2 === 1) return line.endsWith('`') ? text.slice(0, -1) : text + '`'
  const bold = line.replace(/`[^`]*`/g, '').match(/\*\*/g)?.length ?? 0
  if (bold % 2 === 1) return line.endsWith('**') ? text.slice(0, -2) : line.endsWith('*') ? text + '*' : text + '**'
  return text
}
