import { ref, watchEffect } from 'vue'

/** Theme is light, dark, or as the system has it. */
export type Theme = 'light' | 'dark' | 'system'

const kept = 'nanoclaw.theme'

function chosen(): Theme {
  const before = localStorage.getItem(kept)
  return before === 'light' || before === 'dark' ? before : 'system'
}

export const theme = ref<Theme>(chosen())

/** dark says whether the page is dark now. */
export const dark = ref(false)

/** choose changes the theme and keeps the choice. */
export function choose(next: Theme): void {
  theme.value = next
  localStorage.setItem(kept, next)
}

/** startPreferences puts the theme on the page, and follows the system. Called
 * before the app is mounted, so that nothing flashes. */
export function startPreferences(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const systemDark = ref(system.matches)
  system.addEventListener('change', (e) => (systemDark.value = e.matches))
  watchEffect(
    () => {
      dark.value = theme.value === 'dark' || (theme.value === 'system' && systemDark.value)
      document.documentElement.dataset.theme = dark.value ? 'dark' : 'light'
    },
    { flush: 'sync' },
  )
}
