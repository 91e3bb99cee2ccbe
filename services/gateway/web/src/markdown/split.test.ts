import { describe, expect, it, vi } from 'vitest'
import { longestLine } from './render'
import { mend, split, Splitter, type Block } from './split'

// What is cut is the same text, sanitised or not.
vi.mock('./sanitize', async (original) => ({ ...(await original<object>()), sanitize: (html: string) => html }))

const page = `# A heading

A paragraph with **bold**, \`code\`, a [link](https://a.example/x) and https://b.example.
It goes on here.

Setext
======

- one
- two

  a paragraph of two
- three
  - nested

    \`\`\`js
    let x = 1
    \`\`\`

1. first
2. second

| a | b |
|---|--:|
| 1 | 2 |

> a quote
goes on

\`\`\`python
print("爪 🦞")

# not the end: \`\`\`x
\`\`\`

    indented code

$$
x^2 + 1
$$

Text with $y$ and \\(z\\), and 5$ or 6$.

~~~
open to the end
`

// A generator whose seed is printed when a test fails.
function random(seed: number): () => number {
  return () => (seed = (seed * 48271) % 2147483647) / 2147483647
}

function pieces(text: string, next: () => number): string[] {
  const out: string[] = []
  for (let at = 0; at < text.length; ) {
    const n = 1 + Math.floor(next() * 24)
    out.push(text.slice(at, at + n))
    at += n
  }
  return out
}

const shown = (blocks: readonly Block[]) => blocks.map((b) => (b.code ? `<code ${b.code.language}>${b.code.text}` : b.html)).join('\n')

const texts: [string, string][] = [
  ['a page of everything', page],
  ['the page with the line ends of Windows', page.replaceAll('\n', '\r\n')],
  ['a link defined at the end', 'See [it][x] first.\n\nMore.\n\nMore yet.\n\nEnd.\n\n[x]: https://c.example\n'],
  ['a list that turns loose', '- a\n- b\n- c\n\n- d\n\nEnd.'],
  ['a heading that is one by its next line', 'a\n\nb\n\nTitle\n---\n\nc'],
  ['a fence in a fence', '````md\n```js\nx\n```\n````\n\nEnd.'],
  ['a fence that is indented', '  ```js\n  x\n  ```\n\nEnd.'],
  ['a fence that looks closed', '```\na\n```x\nb\n```\nEnd.'],
  ['nothing', ''],
  ['blank lines', '\n\n\n'],
]

describe('a text that is written piece by piece', () => {
  it.each(texts)('%s ends as it is rendered at once', (_, text) => {
    const whole = shown(split(text))
    for (let seed = 1; seed <= 40; seed++) {
      const splitter = new Splitter()
      let written = ''
      for (const piece of pieces(text, random(seed * 7919))) splitter.update((written += piece))
      expect(shown(splitter.finish(text)), `seed ${seed}`).toBe(whole)
    }
  })
  it('leaves finished blocks the objects that they are', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const splitter = new Splitter()
      let written = ''
      let before: readonly Block[] = []
      for (const piece of pieces(page, random(seed * 104729))) {
        const now = splitter.update((written += piece))
        const settled = before.slice(0, -2)
        settled.forEach((block, i) => expect(now[i], `seed ${seed}, block ${i}`).toBe(block))
        before = now
      }
      const end = splitter.finish(page)
      before.slice(0, -2).forEach((block, i) => expect(end[i]).toBe(block))
    }
  })
  it('has one key for each block, in order', () => {
    const keys = split(page).map((b) => b.key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toEqual([...keys].sort((a, b) => a - b))
  })
  it('shows code as it is while its fence is open', () => {
    const splitter = new Splitter()
    const text = 'Look:\n\n```go\nfunc main() {\n\tx := "`'
    for (let n = 1; n < text.length; n++) splitter.update(text.slice(0, n))
    expect(splitter.update(text).at(-1)).toMatchObject({ code: { language: 'go', text: 'func main() {\n\tx := "`', closed: false } })
    expect(splitter.update(text + '`\n}\n```\n').at(-1)).toMatchObject({ code: { text: 'func main() {\n\tx := "``\n}', closed: true } })
  })
  it('begins again when the text is another one', () => {
    const splitter = new Splitter()
    splitter.update('one\n\ntwo\n\nthree\n\nfour')
    expect(shown(splitter.update('other'))).toBe(shown(split('other')))
  })
  it('shows a line that is endless without markup', () => {
    const [block] = split('*'.repeat(longestLine + 1) + '<b>')
    expect(block?.html).toContain('***&lt;b&gt;')
    expect(block?.html).not.toContain('<em>')
  })
})

describe('the end of what is written', () => {
  it.each([
    ['a **bo', 'a **bo**'], ['a **', 'a '], ['a **bo*', 'a **bo**'], ['`co', '`co`'], ['a `', 'a '], ['see [words](https://a', 'see words'], ['![pic](https://a', 'pic'],
    ['```', '```'], ['a **b** c', 'a **b** c'], ['| a ` |', '| a ` |'], ['[words](https://a)', '[words](https://a)'],
  ])('%j is shown as %j', (text, mended) => {
    expect(mend(text)).toBe(mended)
  })
})
