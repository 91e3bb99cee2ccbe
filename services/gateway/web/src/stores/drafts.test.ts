import { afterEach, describe, expect, it, vi } from 'vitest'
import { draft, keepDraft, keepToolsWanted, toolsWanted } from './drafts'

describe('drafts', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    localStorage.clear()
  })
  it('are kept for each conversation', () => {
    keepDraft('a', 'one')
    keepDraft('', 'two')
    expect([draft('a'), draft(''), draft('b')]).toEqual(['one', 'two', ''])
    keepDraft('a', '')
    expect(draft('a')).toBe('')
  })
  it('are not kept without end', () => {
    for (let i = 0; i < 60; i++) keepDraft(`c${i}`, 'x')
    expect([draft('c0'), draft('c59')]).toEqual(['', 'x'])
  })
  it('are lost, and nothing else, where the browser has no room', () => {
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new Error('QuotaExceededError')
    })
    expect(() => keepDraft('a', 'x')).not.toThrow()
  })
  it('go with a list that somebody has broken', () => {
    localStorage.setItem('nanoclaw.drafts', '{"no":"list"}')
    keepDraft('a', 'x')
    expect(draft('a')).toBe('x')
  })
  it('tools are wanted until they are not', () => {
    expect(toolsWanted()).toBe(true)
    keepToolsWanted(false)
    expect(toolsWanted()).toBe(false)
  })
})
