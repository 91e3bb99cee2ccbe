import { describe, expect, it } from 'vitest'
import { en } from '@/i18n/words/crawls'
import { zh } from '@/i18n/words/crawls.zh'
import { extractTypes } from './types'

describe('what can be read of a page', () => {
  it.each([['English', en], ['Chinese', zh]] as const)('has words in %s, each its own', (_, words) => {
    expect(Object.keys(words.types).toSorted()).toEqual([...extractTypes].toSorted())
    expect(new Set(Object.values(words.types)).size).toBe(extractTypes.length)
  })
})
