import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

/** useWidth is how wide an element is; `first` until that is known. */
export function useWidth(of: Ref<Element | undefined>, first: number): Ref<number> {
  const width = ref(first)
  const watcher = new ResizeObserver(([entry]) => {
    if (entry && entry.contentRect.width > 0) width.value = entry.contentRect.width
  })
  onMounted(() => {
    if (of.value) watcher.observe(of.value)
  })
  onBeforeUnmount(() => watcher.disconnect())
  return width
}
