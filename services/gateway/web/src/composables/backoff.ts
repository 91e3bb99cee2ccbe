const first = 1000
const longest = 15_000

/** backoff waits longer with each try, and less when the page is looked at again
 * or the network comes back. It throws when the signal aborts. */
export function backoff(tries: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const wakes: [EventTarget, string][] = [[window, 'online'], [document, 'visibilitychange']]
    const end = (done: () => void) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      for (const [target, name] of wakes) target.removeEventListener(name, wake)
      done()
    }
    const abort = () => end(() => reject(signal.reason as Error))
    const wake = () => {
      if (document.visibilityState === 'visible') end(resolve)
    }
    const timer = setTimeout(() => end(resolve), Math.min(first * 2 ** tries, longest))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort)
    for (const [target, name] of wakes) target.addEventListener(name, wake)
  })
}
