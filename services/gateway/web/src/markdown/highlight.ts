// Colours for code. The highlighter and each language are loaded when they are
// first needed. Colours are classes, so that the page's policy holds and a change
// of theme needs no work.
import type { HighlighterCore, ThemedToken, GrammarState } from 'shiki/core'

/** Piece is a part of a line, and what it is: a class, or nothing. */
export interface Piece {
  text: string
  kind: string
}

/** Beyond this much code, or in lines this long, colours cost more than they help. */
export const mostCode = 100_000
const longestLine = 2_000
// Lines that are coloured before the page gets a turn.
const linesAtOnce = 60

const languages: Record<string, () => Promise<unknown>> = {
  bash: () => import('shiki/langs/shellscript.mjs'),
  c: () => import('shiki/langs/c.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  ini: () => import('shiki/langs/ini.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/json.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  proto: () => import('shiki/langs/proto.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  vue: () => import('shiki/langs/vue.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
}

const aliases: Record<string, string> = {
  'c++': 'c', console: 'bash', cc: 'c', cpp: 'c', dockerfile: 'docker', golang: 'go', htm: 'html', js: 'javascript', jsonc: 'json', jsonl: 'json', jsx: 'tsx', md: 'markdown',
  mjs: 'javascript', patch: 'diff', protobuf: 'proto', py: 'python', python3: 'python', rs: 'rust', sh: 'bash', shell: 'bash', shellscript: 'bash',
  svg: 'xml', ts: 'typescript', yml: 'yaml', zsh: 'bash',
}

/** grammarOf is the grammar that a language named on a fence is read with;
 * empty: there is none. */
export function grammarOf(language: string): string {
  const name = aliases[language] ?? language
  return Object.hasOwn(languages, name) ? name : ''
}

let engine: Promise<HighlighterCore> | undefined
const ready = new Map<string, Promise<string>>()

async function start(): Promise<HighlighterCore> {
  const [core, regex] = await Promise.all([import('shiki/core'), import('shiki/engine/javascript')])
  return core.createHighlighterCore({
    themes: [core.createCssVariablesTheme({ name: 'page', variablePrefix: '--tk-' })],
    langs: [],
    engine: regex.createJavaScriptRegexEngine({ forgiving: true }),
  })
}

// grammar loads a language once, and answers the name that the highlighter has
// for it.
async function grammar(highlighter: HighlighterCore, name: string): Promise<string> {
  const load = languages[name]
  if (!load) return ''
  const module = (await load()) as { default: { name: string }[] }
  await highlighter.loadLanguage(module.default as never)
  return module.default.at(-1)?.name ?? name
}

/**
 * highlight answers the lines of a code with their colours. It answers undefined
 * for a language that it does not know, for code that is too long, and when it
 * cannot be loaded: then the code stays as it is.
 */
export async function highlight(code: string, language: string, signal?: AbortSignal): Promise<Piece[][] | undefined> {
  const name = grammarOf(language)
  if (!name || code.length > mostCode) return undefined
  const lines = code.split('\n')
  if (lines.some((line) => line.length > longestLine)) return undefined
  try {
    const highlighter = await (engine ??= start())
    let loading = ready.get(name)
    if (!loading) ready.set(name, (loading = grammar(highlighter, name)))
    const lang = await loading
    const out: Piece[][] = []
    let state: GrammarState | undefined
    for (let at = 0; at < lines.length; at += linesAtOnce) {
      if (signal?.aborted) return undefined
      const part = lines.slice(at, at + linesAtOnce).join('\n')
      // Without a limit of time: the first line compiles the grammar, and would be
      // left half read.
      const tokens = highlighter.codeToTokensBase(part, { lang, theme: 'page', grammarState: state, tokenizeTimeLimit: 0 })
      state = highlighter.getLastGrammarState(tokens)
      for (const line of tokens) out.push(line.map(pieceOf))
      if (at + linesAtOnce < lines.length) await turn()
    }
    return out
  } catch {
    engine = undefined
    ready.clear()
    return undefined
  }
}

function pieceOf(token: ThemedToken): Piece {
  const kind = /--tk-(?:token-)?([a-z-]+)/.exec(token.color ?? '')?.[1] ?? ''
  return { text: token.content, kind: kind === 'foreground' ? '' : kind }
}

// turn lets the page do something else.
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve))
}
