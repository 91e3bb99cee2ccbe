import { computed, onScopeDispose, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'
import type { Page } from '@/api/wire'
import { returns } from '@/stores/session'

/** Paged is a list that comes page by page. */
export interface Paged<T> {
  items: ShallowRef<T[]>
  error: ShallowRef<unknown>
  loading: Ref<boolean>
  /** first: nothing has come yet. */
  first: ComputedRef<boolean>
  more: Ref<boolean>
  /** next asks for the page after those that are there. */
  next: () => Promise<void>
  /** again begins anew; what is there stays until the first page comes. */
  again: () => Promise<void>
}

/** usePages asks for the first page when the view appears and whenever `of`
 * changes. */
export function usePages<T>(ask: (cursor: string, signal: AbortSignal) => Promise<Page<T>>, of?: () => unknown): Paged<T> {
  const items = shallowRef<T[]>([])
  const error = shallowRef<unknown>()
  const loading = ref(false)
  const came = ref(false)
  const more = ref(false)
  let cursor = ''
  let asking: AbortController | undefined

  async function page(from: string): Promise<void> {
    asking?.abort()
    const mine = (asking = new AbortController())
    loading.value = true
    try {
      const got = await ask(from, mine.signal)
      if (mine.signal.aborted) return
      items.value = from === '' ? got.items : [...items.value, ...got.items]
      cursor = got.next_cursor
      more.value = got.has_more
      came.value = true
      error.value = undefined
    } catch (e) {
      if (!mine.signal.aborted) error.value = e
    } finally {
      if (asking === mine) loading.value = false
    }
  }

  const again = () => page('')
  if (of) {
    watch(of, () => {
      items.value = []
      came.value = more.value = false
      void again()
    })
  }
  watch(returns, () => {
    if (error.value) void again()
  })
  onScopeDispose(() => asking?.abort())
  void again()
  return { items, error, loading, first: computed(() => !came.value), more, next: () => page(cursor), again }
}
