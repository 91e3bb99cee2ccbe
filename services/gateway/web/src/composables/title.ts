import { onBeforeUnmount, ref, watchEffect } from 'vue'

/** title is what the page in view is about; empty: what its route says. */
export const title = ref('')

/** useTitle names the page while a view is there. */
export function useTitle(of: () => string): void {
  watchEffect(() => (title.value = of()))
  onBeforeUnmount(() => (title.value = ''))
}
