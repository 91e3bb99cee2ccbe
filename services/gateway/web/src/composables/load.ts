import { onScopeDispose, ref, shallowRef, watch, type Ref, type ShallowRef } from 'vue'
import { returns } from '@/stores/session'

/** Loaded is something that is asked for: on its way, there, or failed. */
export interface Loaded<T> {
  data: ShallowRef<T | undefined>
  error: ShallowRef<unknown>
  loading: Ref<boolean>
  /** reload asks again; what is there stays until the answer comes. */
  reload: () => Promise<void>
}

/** useLoad asks when the view appears, whenever `of` changes, and when the server
 * is back after a failure. An answer to an older question is dropped. */
export function useLoad<T>(ask: (signal: AbortSignal) => Promise<T>, of?: () => unknown): Loaded<T> {
  const data = shallowRef<T>()
  const error = shallowRef<unknown>()
  const loading = ref(false)
  let asking: AbortController | undefined

  async function reload(): Promise<void> {
    asking?.abort()
    const mine = (asking = new AbortController())
    loading.value = true
    try {
      const answer = await ask(mine.signal)
      if (mine.signal.aborted) return
      data.value = answer
      error.value = undefined
    } catch (e) {
      if (!mine.signal.aborted) error.value = e
    } finally {
      if (asking === mine) loading.value = false
    }
  }

  if (of) {
    watch(of, () => {
      data.value = undefined
      void reload()
    })
  }
  watch(returns, () => {
    if (error.value) void reload()
  })
  onScopeDispose(() => asking?.abort())
  void reload()
  return { data, error, loading, reload }
}
