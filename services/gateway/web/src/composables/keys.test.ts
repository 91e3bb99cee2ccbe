import { describe, expect, it } from 'vitest'
import { keyOf, reader, writes } from './keys'

describe('shortcuts', () => {
  const shortcuts = ['/', 'g c', 'g t', 'c', 'mod+k'].map((keys) => ({ keys, run: () => {} }))
  const keysOf = (presses: [string, number][]) => {
    const read = reader(shortcuts)
    return presses.map(([key, at]) => read(key, at)?.keys)
  }

  it.each<[string, [string, number][], (string | undefined)[]]>([
    ['a key alone', [['/', 0]], ['/']],
    ['two keys, one after the other', [['g', 0], ['c', 500]], [undefined, 'g c']],
    ['the second key too late is a key of its own', [['g', 0], ['c', 5000]], [undefined, 'c']],
    ['another key in between', [['g', 0], ['x', 100], ['t', 200]], [undefined, undefined, undefined]],
    ['the beginning twice', [['g', 0], ['g', 100], ['t', 200]], [undefined, undefined, 'g t']],
    ['with Ctrl or Command', [['mod+k', 0]], ['mod+k']],
  ])('finds %s', (_, presses, found) => {
    expect(keysOf(presses)).toEqual(found)
  })

  it('does not take the keys of an input method or of the browser', () => {
    expect(keyOf(new KeyboardEvent('keydown', { key: 'k', isComposing: true }))).toBe('')
    expect(keyOf(new KeyboardEvent('keydown', { key: 'k', altKey: true }))).toBe('')
    expect(keyOf(new KeyboardEvent('keydown', { key: 'K', metaKey: true }))).toBe('mod+k')
  })

  it('knows where text is written', () => {
    expect(writes(document.createElement('textarea'))).toBe(true)
    expect(writes(document.createElement('button'))).toBe(false)
    expect(writes(null)).toBe(false)
  })
})
