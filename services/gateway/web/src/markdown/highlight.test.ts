import { describe, expect, it } from 'vitest'
import { grammarOf, highlight, mostCode } from './highlight'

describe('colours', () => {
  it('are classes on the very text', { timeout: 30_000 }, async () => {
    const code = 'def f(x):\n    return "爪" # say\n'
    const lines = await highlight(code, 'py')
    expect(lines?.map((line) => line.map((p) => p.text).join('')).join('\n')).toBe(code)
    const kinds = new Set(lines?.flat().map((p) => p.kind))
    for (const kind of ['keyword', 'string-expression', 'comment']) expect(kinds).toContain(kind)
  })
  it('go on over parts of a long code', { timeout: 30_000 }, async () => {
    const code = '"""\n' + 'words\n'.repeat(200) + '"""\nx = 1'
    const lines = await highlight(code, 'python')
    expect(lines).toHaveLength(code.split('\n').length)
    expect(lines?.[150]?.[0]?.kind).toMatch(/string|comment/)
  })
  it.each([['', ''], ['constructor', ''], ['klingon', ''], ['golang', 'go'], ['ts', 'typescript']])('of %j are those of %j', (name, grammar) => expect(grammarOf(name)).toBe(grammar))
  it('are not worth it for what is too long', async () => {
    expect(await highlight('x'.repeat(mostCode + 1), 'go')).toBeUndefined()
    expect(await highlight('x'.repeat(3000), 'go')).toBeUndefined()
  })
})
