import { onBeforeUnmount, onMounted } from 'vue'

/** Shortcut is a key, or two one after the other such as "g c". "mod+k" is Ctrl
 * or Command with k. */
export interface Shortcut {
  keys: string
  run: () => void
}

// The longest time between the two keys of a shortcut.
const pause = 1200

/** writes says that keys in an element are text. */
export function writes(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}

/** keyOf names what was pressed; empty for what is no shortcut's key. */
export function keyOf(event: KeyboardEvent): string {
  if (event.isComposing || event.altKey) return ''
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return event.ctrlKey || event.metaKey ? `mod+${key}` : key
}

/** reader finds the shortcut that a series of keys makes. */
export function reader(shortcuts: Shortcut[]): (key: string, now: number) => Shortcut | undefined {
  let before = ''
  let at = 0
  return (key, now) => {
    const both = before && now - at <= pause ? `${before} ${key}` : ''
    before = ''
    const found = shortcuts.find((s) => s.keys === both) ?? shortcuts.find((s) => s.keys === key)
    if (!found && shortcuts.some((s) => s.keys.startsWith(`${key} `))) {
      before = key
      at = now
    }
    return found
  }
}

/** useKeys runs shortcuts while a component is there. Where text is written, and
 * behind a dialog, only those with mod work. */
export function useKeys(shortcuts: Shortcut[]): void {
  const read = reader(shortcuts)
  const pressed = (event: KeyboardEvent) => {
    const key = keyOf(event)
    if (!key || event.defaultPrevented) return
    const elsewhere = writes(event.target) || document.querySelector('[role="dialog"],[role="alertdialog"],[role="menu"]') !== null
    if (elsewhere && !key.startsWith('mod+')) return
    const found = read(key, Date.now())
    if (!found) return
    event.preventDefault()
    found.run()
  }
  onMounted(() => window.addEventListener('keydown', pressed))
  onBeforeUnmount(() => window.removeEventListener('keydown', pressed))
}
