import { describe, expect, it } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import type { Page } from '@/api/wire'
import { returns } from '@/stores/session'
import { useLoad } from './load'
import { usePages } from './pages'

// A server that answers when it is told to, in any order.
function server<T>() {
  const asked: { what: string; answer: (value: T) => Promise<void>; refuse: (error: Error) => Promise<void>; signal: AbortSignal }[] = []
  const settled = async () => {
    for (let i = 0; i < 5; i++) await nextTick()
  }
  const ask = (what: string, signal: AbortSignal) =>
    new Promise<T>((resolve, reject) => asked.push({ what, signal, answer: async (v) => (resolve(v), settled()), refuse: async (e) => (reject(e), settled()) }))
  return { asked, ask, settled }
}

describe('what is loaded', () => {
  it('is of the newest question, whatever comes last', async () => {
    const { asked, ask, settled } = server<string>()
    const id = ref('a')
    const scope = effectScope()
    const loaded = scope.run(() => useLoad((signal) => ask(id.value, signal), () => id.value))
    id.value = 'b'
    await settled()
    expect(asked.map((a) => [a.what, a.signal.aborted])).toEqual([['a', true], ['b', false]])
    await asked[1]?.answer('of b')
    await asked[0]?.answer('of a')
    expect(loaded?.data.value).toBe('of b')
    expect(loaded?.loading.value).toBe(false)
    scope.stop()
  })
  it('stays when loading it again fails, and is asked for when the server is back', async () => {
    const { asked, ask, settled } = server<string>()
    const scope = effectScope()
    const loaded = scope.run(() => useLoad((signal) => ask('a', signal)))
    await asked[0]?.answer('first')
    void loaded?.reload()
    await asked[1]?.refuse(new Error('gone'))
    expect(loaded?.data.value).toBe('first')
    expect(loaded?.error.value).toMatchObject({ message: 'gone' })
    returns.value++
    await settled()
    await asked[2]?.answer('second')
    expect([loaded?.data.value, loaded?.error.value]).toEqual(['second', undefined])
    scope.stop()
  })
})

describe('a list by pages', () => {
  it('grows, and begins anew', async () => {
    const { asked, ask } = server<Page<number>>()
    const scope = effectScope()
    const list = scope.run(() => usePages<number>((cursor, signal) => ask(cursor, signal)))
    expect(list?.first.value).toBe(true)
    await asked[0]?.answer({ items: [1, 2], next_cursor: 'x', has_more: true })
    void list?.next()
    await asked[1]?.answer({ items: [3], next_cursor: '', has_more: false })
    expect(asked.map((a) => a.what)).toEqual(['', 'x'])
    expect([list?.items.value, list?.more.value, list?.first.value]).toEqual([[1, 2, 3], false, false])
    void list?.again()
    await asked[2]?.answer({ items: [9], next_cursor: '', has_more: false })
    expect(list?.items.value).toEqual([9])
    scope.stop()
  })
})
