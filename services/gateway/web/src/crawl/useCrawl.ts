import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'
import { request } from '@/api/http'
import type { CrawlTask } from '@/api/wire'
import { useLoad, type Loaded } from '@/composables/load'
import { liveOf, type Live } from './state'
import { watch as follow } from './watch'

/** Crawl is a task as it is read, and live. */
export interface Crawl extends Loaded<CrawlTask> {
  live: ShallowRef<Live | undefined>
  connected: Ref<boolean>
}

/** useCrawl reads a task and follows it to its end; then it is read once more, for
 * its problems. */
export function useCrawl(task: () => string): Crawl {
  const loaded = useLoad((signal) => request<CrawlTask>(`/api/crawler/tasks/${encodeURIComponent(task())}`, { signal }), task)
  const live = shallowRef<Live>()
  const connected = ref(true)
  let following: AbortController | undefined
  let followed = ''

  watch(loaded.data, (read) => {
    if (read === undefined) {
      following?.abort()
      followed = ''
      live.value = undefined
      return
    }
    if (live.value === undefined || liveOf(read).over) live.value = liveOf(read)
    if (live.value.over || followed === read.id) return
    followed = read.id
    const mine = (following = new AbortController())
    follow({
      task: read.id,
      live: live.value,
      signal: mine.signal,
      onLive: (now) => (live.value = now),
      onConnected: (is) => (connected.value = is),
    })
      .then(() => loaded.reload())
      .catch((error: unknown) => {
        if (!mine.signal.aborted) loaded.error.value = error
      })
  })
  onScopeDispose(() => following?.abort())
  return { ...loaded, live, connected }
}
