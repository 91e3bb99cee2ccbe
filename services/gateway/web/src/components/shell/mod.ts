/** mod is how the keyboard of this machine calls its command key. */
export const mod = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl'
