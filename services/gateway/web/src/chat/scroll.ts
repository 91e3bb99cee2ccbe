// Whether the view goes along with what is written. It stops only by what the
// reader does, never by a jump of the layout, and goes on at the end.
import { onBeforeUnmount, ref, watch, type Ref } from 'vue'

/** near is how close to the end counts as the end, in pixels. */
export const near = 32

/** Intent decides from what the reader does whether to follow. */
export class Intent {
  following = true
  private last = 0
  private until = 0

  /** wheel, key and touch say that the reader moves the view up. */
  up(): void {
    this.following = false
  }

  /** held says that the reader moves the view by hand until then: a drag of the
   * scroll bar, or what a touch leaves behind. */
  held(until: number): void {
    this.until = until
  }

  /** scrolled tells where the view is now: its top, and what is left below. */
  scrolled(top: number, left: number, now: number): void {
    const moved = top - this.last
    this.last = top
    if (moved < 0 && now < this.until) this.following = false
    // Only going down gets to the end: a first small step up leaves it.
    else if (moved > 0 && left <= near) this.following = true
  }

  /** toEnd is asked for by the reader. */
  toEnd(): void {
    this.following = true
  }
}

const upKeys = new Set(['PageUp', 'ArrowUp', 'Home'])

/** useFollow keeps the end of a view in sight while the reader wants it. */
export function useFollow(view: Ref<HTMLElement | null>, content: Ref<HTMLElement | null>): { following: Ref<boolean>; toEnd: (smooth?: boolean) => void } {
  const intent = new Intent()
  const following = ref(true)
  const tell = () => (following.value = intent.following)
  const observer = new ResizeObserver(() => {
    if (intent.following) jump()
  })

  function jump(smooth = false): void {
    const element = view.value
    if (element) element.scrollTo({ top: element.scrollHeight, behavior: smooth && !matchMedia('(prefers-reduced-motion: reduce)').matches ? 'smooth' : 'instant' })
  }
  function toEnd(smooth = false): void {
    intent.toEnd()
    tell()
    jump(smooth)
  }

  let touch = 0
  const listeners: [string, (e: Event) => void][] = [
    ['wheel', (e) => void ((e as WheelEvent).deltaY < 0 && intent.up())],
    ['touchstart', (e) => void (touch = (e as TouchEvent).touches[0]?.clientY ?? 0)],
    ['touchmove', (e) => {
      const y = (e as TouchEvent).touches[0]?.clientY ?? 0
      if (y > touch + 2) intent.up()
      touch = y
    }],
    ['pointerdown', (e) => void (e.target === view.value && intent.held(Infinity))],
    ['pointerup', () => intent.held(0)],
    ['keydown', (e) => {
      const writes = e.target instanceof HTMLElement && ['TEXTAREA', 'INPUT', 'SELECT'].includes(e.target.tagName)
      const key = e as KeyboardEvent
      if (!writes && (upKeys.has(key.key) || (key.key === ' ' && key.shiftKey && e.target === view.value))) intent.up()
    }],
    ['scroll', () => {
      const element = view.value
      if (element) intent.scrolled(element.scrollTop, element.scrollHeight - element.scrollTop - element.clientHeight, Date.now())
    }],
  ]
  const all = listeners.map(([name, act]) => [name, (e: Event) => (act(e), tell())] as const)
  const release = () => intent.held(0)

  watch(view, (now, before) => {
    for (const [name, act] of all) {
      before?.removeEventListener(name, act)
      now?.addEventListener(name, act, { passive: true })
    }
  }, { immediate: true, flush: 'post' })
  watch(content, (now, before) => {
    if (before) observer.unobserve(before)
    if (now) observer.observe(now)
  }, { immediate: true, flush: 'post' })
  window.addEventListener('pointerup', release)
  onBeforeUnmount(() => {
    observer.disconnect()
    window.removeEventListener('pointerup', release)
    for (const [name, act] of all) view.value?.removeEventListener(name, act)
  })
  return { following, toEnd }
}
