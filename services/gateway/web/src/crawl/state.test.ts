import { describe, expect, it } from 'vitest'
import type { CrawlTask } from '@/api/wire'
import { liveOf, next, type Live } from './state'

const task = { last_seq: 2, status: 'running', outcome: '', progress: 1, total: 4, succeeded: 1, failed: 0, skipped: 0, stall_reason: '' } as CrawlTask
const play = (events: [string, string, unknown][]): Live => events.reduce((live, [name, id, data]) => next(live, { name, id, data }), liveOf(task))

describe('a crawl', () => {
  it('goes on with its events to the end', () => {
    const live = play([
      ['progress', '', { status: 'running', progress: 2, total: 4, percent: 50, succeeded: 1, failed: 1, skipped: 0, rate: 1.5, stall_reason: '' }],
      ['page', '3', { url: 'https://a.example/', ok: true, result_seq: 3 }],
      ['done', '4', { status: 'completed', outcome: 'partial', succeeded: 3, failed: 1, skipped: 0, total: 4 }],
    ])
    expect(live).toMatchObject({ status: 'completed', outcome: 'partial', over: true, progress: 4, recorded: 4, rate: 0, lastSeq: 4 })
  })
  it('takes no event twice', () => {
    const live = play([['state', '2', { status: 'failed', reason: '' }], ['state', '1', { status: 'cancelled', reason: '' }]])
    expect(live).toMatchObject({ status: 'running', over: false })
  })
  it('never goes back', () => {
    const live = play([['progress', '', { status: 'running', progress: 0, total: 4, succeeded: 0, failed: 0, skipped: 0, rate: 0, stall_reason: 'robots.txt of a.example' }]])
    expect(live).toMatchObject({ progress: 1, succeeded: 1, stall: 'robots.txt of a.example' })
  })
  it('keeps one row a host', () => {
    const live = play([
      ['host', '', { host: 'a.example:443', open: 3, state: 'robots', reason: '' }],
      ['host', '', { host: 'b.example:443', open: 1, state: 'fetching', reason: '' }],
      ['host', '', { host: 'a.example:443', open: 2, state: 'waiting', reason: 'Crawl-delay' }],
    ])
    expect(live.hosts.map((h) => [h.host, h.open, h.state])).toEqual([['a.example:443', 2, 'waiting'], ['b.example:443', 1, 'fetching']])
  })
  it('does not stumble over an event of a newer server', () => {
    expect(play([['weather', '3', { sun: true }]])).toMatchObject({ status: 'running', lastSeq: 3 })
  })
})
