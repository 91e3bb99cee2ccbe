import { onScopeDispose, ref, watch, type Ref } from 'vue'

/** useClock is the time, moved on while `runs` says so and the page is looked at. */
export function useClock(runs: () => boolean, every = 1000): Ref<number> {
  const now = ref(Date.now())
  let timer: ReturnType<typeof setInterval> | undefined
  const tick = () => {
    if (document.visibilityState === 'visible') now.value = Date.now()
  }
  watch(runs, (on) => {
    clearInterval(timer)
    now.value = Date.now()
    if (on) timer = setInterval(tick, every)
  }, { immediate: true })
  onScopeDispose(() => clearInterval(timer))
  return now
}
