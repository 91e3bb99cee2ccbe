import { expect, it } from 'vitest'
import { APIError } from '@/api/http'
import type { CrawlTask } from '@/api/wire'
import { liveOf } from './state'
import { watch, type Watch } from './watch'

const live = liveOf({ last_seq: 1, status: 'running', outcome: '', progress: 0, total: 2, succeeded: 0, failed: 0, skipped: 0, stall_reason: '' } as CrawlTask)

function watched(streams: ([string, string, unknown][] | APIError)[]) {
  const asked: (string | undefined)[] = []
  const read: Watch['read'] = async (_, ask, tell) => {
    asked.push(ask.headers?.['Last-Event-ID'])
    const stream = streams.shift()
    if (stream instanceof APIError) throw stream
    for (const [name, id, data] of stream ?? []) tell({ name, id, data })
  }
  let last = live
  const end = watch({ task: 't', live, read, wait: async () => {}, onLive: (l) => (last = l), onConnected: () => {}, signal: new AbortController().signal })
  return end.then(() => ({ asked, last }))
}

it('a crawl is followed over connections that are cut', async () => {
  const { asked, last } = await watched([
    [['page', '2', { result_seq: 1 }]],
    new APIError({ message: 'cut' }),
    [['page', '2', { result_seq: 1 }], ['done', '3', { status: 'completed', outcome: 'ok', succeeded: 2, failed: 0, skipped: 0, total: 2 }]],
  ])
  expect(asked).toEqual(['1', '2', '2'])
  expect(last).toMatchObject({ over: true, succeeded: 2 })
})

it('a crawl that is gone is not asked for again', async () => {
  await expect(watched([new APIError({ status: 404, message: 'gone' })])).rejects.toMatchObject({ status: 404 })
})
