import { describe, expect, it } from 'vitest'
import { Intent, near } from './scroll'

describe('the view goes along with what is written', () => {
  it('from the beginning', () => expect(new Intent().following).toBe(true))
  it('and not after the reader moved it up', () => {
    const intent = new Intent()
    intent.up()
    intent.scrolled(900, 100, 0)
    expect(intent.following).toBe(false)
  })
  it('also when the layout jumps by itself', () => {
    const intent = new Intent()
    intent.scrolled(1000, 0, 0)
    intent.scrolled(400, 600, 0)
    expect(intent.following).toBe(true)
  })
  it('again when the reader comes down to the end', () => {
    const intent = new Intent()
    intent.up()
    intent.scrolled(500, 500, 0)
    intent.scrolled(1000 - near, near, 0)
    expect(intent.following).toBe(true)
  })
  it('not again by a first small step up, which is still close to the end', () => {
    const intent = new Intent()
    intent.scrolled(1000, 0, 0)
    intent.up()
    intent.scrolled(990, 10, 0)
    expect(intent.following).toBe(false)
  })
  it('not while the scroll bar is dragged up, and then by hand only', () => {
    const intent = new Intent()
    intent.scrolled(1000, 0, 0)
    intent.held(Infinity)
    intent.scrolled(600, 400, 1)
    expect(intent.following).toBe(false)
    intent.held(0)
    intent.toEnd()
    intent.scrolled(500, 500, 2)
    expect(intent.following).toBe(true)
  })
})
