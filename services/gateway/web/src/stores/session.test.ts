import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { request } from '@/api/http'
import { lost, returns, signedOut, startSession } from './session'

const ok = () => new Response('{"code":0,"data":{}}')

beforeEach(() => {
  vi.useFakeTimers()
  startSession()
  signedOut.value = false
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('the server', () => {
  it('is lost until it answers, and asked at ever longer distances', async () => {
    const asked: string[] = []
    let there = false
    vi.stubGlobal('fetch', async (url: string) => {
      asked.push(url)
      if (!there) throw new TypeError('Load failed')
      return ok()
    })
    await expect(request('/api/usage')).rejects.toMatchObject({ status: 0 })
    expect(lost.value).toBe(true)
    await vi.advanceTimersByTimeAsync(3500)
    expect(asked).toEqual(['/api/usage', '/healthz', '/healthz'])
    there = true
    const before = returns.value
    await vi.advanceTimersByTimeAsync(10_000)
    expect(lost.value).toBe(false)
    expect(returns.value).toBe(before + 1)
    const after = asked.length
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked).toHaveLength(after)
  })
  it('is there when it refuses something', async () => {
    vi.stubGlobal('fetch', async () => new Response('{"code":503,"message":"m","reason":"DOWN","details":[]}', { status: 503 }))
    await expect(request('/api/usage')).rejects.toMatchObject({ reason: 'DOWN' })
    expect(lost.value).toBe(false)
  })
  it('does not know a browser that it answers 401', async () => {
    vi.stubGlobal('fetch', async () => new Response('{"code":401,"message":"m","reason":"UNAUTHENTICATED","details":[]}', { status: 401 }))
    await expect(request('/api/usage')).rejects.toMatchObject({ status: 401 })
    expect(signedOut.value).toBe(true)
  })
})
