import { describe, expect, it } from 'vitest'
import type { Conversation } from '@/api/wire'
import { ageOf, byAge, matching } from './list'

const now = new Date(2026, 4, 20, 9, 30)
const at = (days: number, hour = 12) => new Date(2026, 4, 20 - days, hour).toISOString()
const one = (title: string, updated_at = at(0)) => ({ id: title, title, updated_at }) as Conversation

describe('the list of conversations', () => {
  it.each([[at(0, 0), 'today'], [at(1, 23), 'yesterday'], [at(1, 0), 'yesterday'], [at(2), 'week'], [at(6, 1), 'week'], [at(7), 'earlier'], ['', 'earlier'], [undefined, 'earlier']])('%s is of %s', (time, age) =>
    expect(ageOf(time, now)).toBe(age))
  it('is put into groups that are not empty', () => {
    const groups = byAge([one('a'), one('b'), one('c', at(40))], now)
    expect(groups.map((g) => [g.age, g.items.map((c) => c.title)])).toEqual([['today', ['a', 'b']], ['earlier', ['c']]])
  })
  it.each([['', 3], ['  ', 3], ['cafe', 1], ['CLAW web', 1], ['爪', 1], ['nothing', 0]])('searched for %j has %d', (words, n) => {
    expect(matching([one('Café au lait'), one('The web of the claw'), one('纳米爪')], words)).toHaveLength(n)
  })
})
