// How this browser stands with the server: signed in or not, reached or lost.
import { ref } from 'vue'
import { onReach, onUnauthorized } from '@/api/http'
import { backoff } from '@/composables/backoff'

/** signedOut is set when the server does not know this browser (any more). */
export const signedOut = ref(false)

/** lost is set while the server does not answer. */
export const lost = ref(false)

/** returns counts how often the server came back; views that failed load again. */
export const returns = ref(0)

let probing: AbortController | undefined

/** startSession listens to what requests find out. Called once, before the app is
 * mounted. */
export function startSession(): void {
  onUnauthorized(() => (signedOut.value = true))
  onReach((answered) => (answered ? found() : void probe()))
  window.addEventListener('offline', () => void probe())
}

function found(): void {
  if (!lost.value) return
  lost.value = false
  returns.value++
  probing?.abort()
  probing = undefined
}

/** probe asks until the server answers. It is one at a time. */
async function probe(): Promise<void> {
  if (probing) return
  const mine = (probing = new AbortController())
  lost.value = true
  for (let tries = 0; !mine.signal.aborted; tries++) {
    try {
      await backoff(tries, mine.signal)
      const answer = await fetch('/healthz', { signal: mine.signal, cache: 'no-store' })
      if (answer.ok) return found()
    } catch {
      // Still not there.
    }
  }
}
