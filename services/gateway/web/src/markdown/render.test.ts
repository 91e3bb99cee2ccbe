// @vitest-environment jsdom
// The sanitiser needs a document that is read as a browser reads it.
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { hostile, trap } from './hostile'
import { inlineFormula, mathEngine } from './math'
import { linkOf, sanitize } from './sanitize'
import { split } from './split'

const html = (text: string, cite?: (address: string) => number | undefined) => split(text, cite).map((b) => b.html).join('')

function parse(source: string): HTMLElement {
  const root = document.createElement('div')
  root.innerHTML = source
  return root
}

// Elements and attributes that may stand in an answer; everything else is a
// failure, known or not.
const allowed = /^(a|blockquote|br|code|del|div|em|h[3-6]|hr|li|ol|p|pre|s|span|strong|table|tbody|td|th|thead|tr|ul|math|m[a-z]+)$/i

function check(source: string): void {
  for (const element of parse(source).querySelectorAll('*')) {
    expect(element.nodeName).toMatch(allowed)
    for (const { name, value } of element.attributes) {
      expect(name, `${element.nodeName} ${name}=${value}`).not.toMatch(/^(on|style$|src|id$|name$|action|formaction|data$|background|poster|ping|xlink)/i)
      if (name === 'href') expect(value).toMatch(/^(https?:\/\/|mailto:)/i)
    }
    if (element.nodeName === 'A' && element.hasAttribute('href')) {
      expect(element.getAttribute('rel')).toBe('noopener noreferrer nofollow')
      expect(element.getAttribute('target')).toBe('_blank')
    }
  }
}

describe('what is hostile', () => {
  beforeAll(async () => {
    html('$x$')
    await vi.waitFor(() => expect(mathEngine.value).toBeDefined(), { timeout: 20_000 })
  })
  it('comes in many kinds', () => expect(hostile.length).toBeGreaterThan(40))
  it.each(hostile.map((h) => [h.name, h.text] as const))('%s does nothing', (_, text) => {
    check(html(text))
    check(html(`- a list\n\n  ${text.replaceAll('\n', '\n  ')}\n\n> ${text.replaceAll('\n', '\n> ')}`))
  })
  it.each(hostile.map((h) => [h.name, h.text] as const))('%s does nothing as HTML either', (_, text) => check(sanitize(text)))
})

describe('a text', () => {
  it('shows where a link leads, whatever it says', () => {
    const a = parse(html('[https://bank.example](https://bank.example@trap.invalid/)')).querySelector('a')
    expect(a?.title).toBe('trap.invalid')
  })
  it('shows a picture as a link with its host', () => {
    const root = parse(html(`![a cat](${trap}/cat.png)`))
    expect(root.querySelector('img')).toBeNull()
    expect(root.querySelector('a.md-image')?.textContent).toBe('a cattrap.invalid')
  })
  it('has formulas as MathML, and no source beside them', () => {
    const root = parse(html('so $x^2$ is'))
    expect(root.querySelector('math')?.textContent).toBe('x2')
  })
  it('shows a formula that is none as it is written', () => {
    expect(parse(html('$\\frac{$')).textContent?.trim()).toBe('\\frac{')
    expect(parse(html('$\\nothing{x}$')).querySelector('.md-tex')?.textContent).toBe('\\nothing{x}')
  })
  it('makes a link of an address, and none of a file name', () => {
    expect(parse(html('see https://a.example/x and README.md')).querySelectorAll('a')).toHaveLength(1)
  })
  it('aligns cells by classes', () => {
    expect(html('| a |\n|--:|\n| 1 |')).toContain('<td class="md-right">')
  })
  it('shows boxes of a list of tasks', () => {
    expect(parse(html('- [ ] one\n- [x] two')).textContent).toMatch(/☐ one\s+☑ two/)
  })
})

describe('a source', () => {
  const cite = (address: string) => (address === 'https://a.example/x' ? 3 : undefined)
  it('is a number where its address stands', () => {
    const a = parse(html('So says https://a.example/x.', cite)).querySelector('a')
    expect(a?.outerHTML).toContain('data-cite="3"')
    expect(a?.textContent).toBe('3')
  })
  it('is a number behind the words of its link', () => {
    expect(parse(html('So [it is](https://a.example/x).', cite)).textContent?.trim()).toBe('So it is3.')
  })
  it('is nothing that no tool returned', () => {
    expect(html('See https://b.example/x', cite)).not.toContain('data-cite')
  })
})

describe('dollars', () => {
  it.each([
    ['$x$', 'x'], ['$x$ and', 'x'], ['$a\\$b$', 'a\\$b'], ['\\(y\\)', 'y'], ['$$z$$', 'z'], ['\\[w\\]', 'w'],
    ['$5 and $6', undefined], ['$5, then 6$7', undefined], ['$ x$', undefined], ['$x', undefined], ['\\(x', undefined],
  ])('%s', (text, tex) => expect(inlineFormula(text, 0)?.tex).toBe(tex))
})

describe('a link', () => {
  it.each(['javascript:x', '/api', '//a.example', 'http:a', 'data:text/html,x', 'https://', ''])('%j is not followed', (href) => expect(linkOf(href)).toBeUndefined())
  it.each(['https://a.example', 'HTTP://a.example', 'mailto:a@a.example'])('%j is', (href) => expect(linkOf(href)).toBeDefined())
})
