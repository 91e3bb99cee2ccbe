import { onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

// One observer for all messages.
const waiting = new WeakMap<Element, () => void>()
let observer: IntersectionObserver | undefined

/** useNear turns true when an element comes near the part that is looked at, and
 * stays so. What is far away is not worth its rendering. */
export function useNear(element: Ref<HTMLElement | null>, at: boolean): Ref<boolean> {
  const near = ref(at)
  if (at) return near
  onMounted(() => {
    if (!element.value) return
    observer ??= new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) waiting.get(entry.target)?.()
    }, { rootMargin: '1200px 0px' })
    const mine = element.value
    waiting.set(mine, () => {
      near.value = true
      observer?.unobserve(mine)
    })
    observer.observe(mine)
  })
  onBeforeUnmount(() => {
    if (element.value) observer?.unobserve(element.value)
  })
  return near
}
