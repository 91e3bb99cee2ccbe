import { describe, expect, it } from 'vitest'
import { effectScope } from 'vue'
import { APIError } from '@/api/http'
import type { FileInfo } from '@/api/wire'
import { causeOf, type Upload } from './upload'
import { useUploads } from './uploads'

const file = (name: string, size = 1) => new File(['x'.repeat(size)], name)

// A server that answers when it is told to.
function rig(room = 100) {
  const asked: (Upload & { answer: (error?: unknown) => Promise<void> })[] = []
  const stored: string[] = []
  const scope = effectScope()
  const settled = () => new Promise((resolve) => setTimeout(resolve))
  const uploads = scope.run(() =>
    useUploads((item) => stored.push(item.file.name), () => room, (u) =>
      new Promise((resolve, reject) => {
        u.signal.addEventListener('abort', () => reject(u.signal.reason as Error))
        asked.push({ ...u, answer: async (error) => (error ? reject(error) : resolve({} as FileInfo), void (await settled())) })
      }),
    ),
  )
  if (!uploads) throw new Error('no scope')
  return { uploads, asked, stored, scope, settled, states: () => uploads.items.map((i) => i.state) }
}

describe('uploads', () => {
  it('go one after the other', async () => {
    const { uploads, asked, stored, states } = rig()
    uploads.add('w', 'a/b', [file('1'), file('2')])
    expect(states()).toEqual(['sending', 'waiting'])
    await asked[0]?.answer()
    expect(states()).toEqual(['done', 'sending'])
    expect(asked[1]).toMatchObject({ workspace: 'w', folder: 'a/b', replace: false })
    await asked[1]?.answer()
    expect(stored).toEqual(['1', '2'])
  })
  it('go on after one that failed, which can be sent again in place of what is there', async () => {
    const { uploads, asked, states } = rig()
    uploads.add('w', '', [file('1'), file('2')])
    await asked[0]?.answer(new APIError({ status: 409, reason: 'FILE_EXISTS', message: '' }))
    await asked[1]?.answer()
    expect(states()).toEqual(['failed', 'done'])
    const first = uploads.items[0]
    if (first) uploads.again(first, true)
    expect(asked[2]).toMatchObject({ replace: true })
  })
  it('stop when told to, also before their turn', async () => {
    const { uploads, states, settled } = rig()
    uploads.add('w', '', [file('1'), file('2')])
    for (const item of [...uploads.items].reverse()) uploads.stop(item)
    await settled()
    expect(states()).toEqual(['stopped', 'stopped'])
  })
  it('are not begun when there is no room', async () => {
    const { uploads, asked, settled } = rig(10)
    uploads.add('w', '', [file('1', 11)])
    await settled()
    expect(asked).toEqual([])
    expect(causeOf(uploads.items[0]?.error)).toBe('quota')
  })
  it('end with the page', async () => {
    const { uploads, scope, states, settled } = rig()
    uploads.add('w', '', [file('1'), file('2')])
    scope.stop()
    await settled()
    expect(states()).toEqual(['stopped', 'stopped'])
  })
})

it.each([
  [{ status: 413, reason: 'BODY_TOO_LARGE' }, 'tooLarge'],
  [{ status: 429, reason: 'QUOTA_EXCEEDED' }, 'quota'],
  [{ status: 409, reason: 'FILE_EXISTS' }, 'exists'],
  [{ status: 0, reason: 'UPLOAD_CUT' }, 'cut'],
  [{ status: 400, reason: 'INVALID_ARGUMENT' }, ''],
])('%j is told as %j', (problem, cause) => {
  expect(causeOf(new APIError({ ...problem, message: '' }))).toBe(cause)
})
