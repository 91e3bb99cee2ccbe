import { describe, expect, it } from 'vitest'
import en from './en'
import zh from './zh'

// Every text by its path.
function flat(words: object, at = ''): Map<string, unknown> {
  const all = new Map<string, unknown>()
  for (const [key, value] of Object.entries(words)) {
    const path = at ? `${at}.${key}` : key
    if (typeof value === 'object' && value !== null) for (const [p, v] of flat(value as object, path)) all.set(p, v)
    else all.set(path, value)
  }
  return all
}

const placeholders = (text: unknown) => [...String(text).matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort()

describe('words', () => {
  const english = flat(en)
  const chinese = flat(zh)

  it('are the same in every language', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort())
  })
  it.each([['English', english], ['Chinese', chinese]])('none is empty in %s', (_, words) => {
    expect([...words].filter(([, text]) => typeof text !== 'string' || text.trim() === '')).toEqual([])
  })
  it('have the same places for values', () => {
    const forms = (text: unknown) => String(text).split(' | ').map(placeholders).at(-1)
    const differ = [...english].filter(([path, text]) => String(forms(text)) !== String(forms(chinese.get(path))))
    expect(differ).toEqual([])
  })
  it('Chinese texts are Chinese', () => {
    // Names, code and units stay as they are.
    const wordless = (text: unknown) => !/\p{L}/u.test(String(text).replace(/\{\w+\}/g, ''))
    const latin = [...chinese].filter(([path, text]) => !/\p{Script=Han}/u.test(String(text)) && !wordless(text) && text !== english.get(path))
    expect(latin).toEqual([])
  })
  it('Chinese texts have Chinese marks', () => {
    expect([...chinese].filter(([, text]) => /\p{Script=Han}[,:;?!()]|[,:;?!()]\p{Script=Han}/u.test(String(text)))).toEqual([])
  })
})
