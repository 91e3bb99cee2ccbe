import { onScopeDispose, reactive } from 'vue'
import { APIError } from '@/api/http'
import { upload as send, type Upload } from './upload'

/** Item is one file of the list of uploads. */
export interface Item {
  id: number
  workspace: string
  folder: string
  file: File
  replace: boolean
  state: 'waiting' | 'sending' | 'done' | 'failed' | 'stopped'
  sent: number
  error?: unknown
}

export interface Uploads {
  items: Item[]
  add: (workspace: string, folder: string, files: Iterable<File>) => void
  stop: (item: Item) => void
  again: (item: Item, replace: boolean) => void
  forget: (item: Item) => void
}

/** useUploads sends files one after the other. `done` is told of each that is
 * stored, `room` says how many bytes a workspace may take at most. */
export function useUploads(done: (item: Item) => void, room: (workspace: string) => number, upload: typeof send = send): Uploads {
  const items = reactive<Item[]>([])
  let last = 0
  let now: { item: Item; stop: AbortController } | undefined

  function add(workspace: string, folder: string, files: Iterable<File>): void {
    for (const file of files) items.push({ id: ++last, workspace, folder, file, replace: false, state: 'waiting', sent: 0 })
    void work()
  }

  async function work(): Promise<void> {
    if (now) return
    const item = items.find((one) => one.state === 'waiting')
    if (!item) return
    now = { item, stop: new AbortController() }
    const { signal } = now.stop
    item.state = 'sending'
    item.sent = 0
    item.error = undefined
    try {
      if (item.file.size > room(item.workspace)) throw new APIError({ status: 429, reason: 'QUOTA_EXCEEDED', message: '' })
      const about: Upload = { workspace: item.workspace, folder: item.folder, file: item.file, replace: item.replace, signal, onSent: (bytes) => (item.sent = bytes) }
      await upload(about)
      item.state = 'done'
      done(item)
    } catch (error) {
      item.state = signal.aborted ? 'stopped' : 'failed'
      item.error = signal.aborted ? undefined : error
    } finally {
      now = undefined
      void work()
    }
  }

  function stop(item: Item): void {
    if (now?.item.id === item.id) now.stop.abort(new Error('stopped'))
    else item.state = 'stopped'
  }

  function again(item: Item, replace: boolean): void {
    item.replace = replace
    item.state = 'waiting'
    void work()
  }

  function forget(item: Item): void {
    const at = items.findIndex((one) => one.id === item.id)
    if (at >= 0 && item.state !== 'sending') items.splice(at, 1)
  }

  onScopeDispose(() => {
    for (const item of items) if (item.state === 'waiting') item.state = 'stopped'
    now?.stop.abort(new Error('left'))
  })
  return { items, add, stop, again, forget }
}
