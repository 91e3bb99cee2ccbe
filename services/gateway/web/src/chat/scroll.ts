// Whether the view goes along with what is written. It stops only by what the
// reader does, never by a jump of the layout, and goes on at the end.
import { onBeforeUnmount, ref, watch, type Ref } from 'vue'

/** near is how close to the end counts as the end, in pixels. */
export const near = 32

// How long after a wheel, a key or a touch the view may still move by it.
const momentum = 1000

/** Intent decides from what the reader does whether to follow. Times are in
 * milliseconds. */
export class Intent {
  following = true
  private last = 0
  private held = false
  private downUntil = 0

  /** up says that the reader moves the view up. */
  up(): void {
    this.following = false
    this.downUntil = 0
  }

  /** down says that the reader moves the view down. */
  down(now: number): void {
    this.downUntil = now + momentum
  }

  /** hold says that the reader has the scroll bar in hand, or lets it go. */
  hold(held: boolean): void {
    this.held = held
  }

  /** scrolled tells where the view is now: its top, and what is left below. That
   * the view moves says nothing of what the reader wants: it moves by itself, too. */
  scrolled(top: number, left: number, now: number): void {
    const moved = top - this.last
    this.last = top
    if (moved < 0 && this.held) this.following = false
    if (moved <= 0 || (!this.held && now > this.downUntil)) return
    if (!this.held) this.downUntil = now + momentum
    if (left <= near) this.following = true
  }

  /** toEnd is asked for by the reader. */
  toEnd(): void {
    this.following = true
  }
}

const upKeys = new Set(['PageUp', 'ArrowUp', 'Home'])
const downKeys = new Set(['PageDown', 'ArrowDown', 'End'])

// scrolledInside: a code or a thought in the view takes the wheel for itself.
function scrolledInside(target: EventTarget | null, view: HTMLElement | null): boolean {
  for (let e = target instanceof Element ? target : null; e && e !== view; e = e.parentElement) {
    if (e.scrollTop > 0 && e.scrollHeight > e.clientHeight) return true
  }
  return false
}

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
    ['wheel', (e) => {
      if ((e as WheelEvent).deltaY < 0) {
        if (!scrolledInside(e.target, view.value)) intent.up()
      } else intent.down(Date.now())
    }],
    ['touchstart', (e) => void (touch = (e as TouchEvent).touches[0]?.clientY ?? 0)],
    ['touchmove', (e) => {
      const y = (e as TouchEvent).touches[0]?.clientY ?? 0
      if (y > touch + 2) intent.up()
      else if (y < touch - 2) intent.down(Date.now())
      touch = y
    }],
    ['pointerdown', (e) => intent.hold(e.target === view.value)],
    ['pointerup', () => intent.hold(false)],
    ['keydown', (e) => {
      const writes = e.target instanceof HTMLElement && ['TEXTAREA', 'INPUT', 'SELECT'].includes(e.target.tagName)
      const { key, shiftKey } = e as KeyboardEvent
      const space = key === ' ' && e.target === view.value
      if (writes) return
      if (upKeys.has(key) || (space && shiftKey)) intent.up()
      else if (downKeys.has(key) || space) intent.down(Date.now())
    }],
    ['scroll', () => {
      const element = view.value
      if (element) intent.scrolled(element.scrollTop, element.scrollHeight - element.scrollTop - element.clientHeight, Date.now())
    }],
  ]
  const all = listeners.map(([name, act]) => [name, (e: Event) => (act(e), tell())] as const)
  const release = () => intent.hold(false)

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
