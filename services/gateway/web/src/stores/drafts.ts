// What was written and not sent yet, and small choices of the composer. They stay
// in this browser.

const draftOf = (conversation: string) => `nanoclaw.draft.${conversation || 'new'}`
const mostDrafts = 50
const listKey = 'nanoclaw.drafts'
const toolsKey = 'nanoclaw.tools'

/** draft is what was written for a conversation; the empty id is a new one. */
export function draft(conversation: string): string {
  return read(draftOf(conversation)) ?? ''
}

/** keepDraft keeps it; empty text forgets it. Of many drafts the oldest goes. */
export function keepDraft(conversation: string, text: string): void {
  const key = draftOf(conversation)
  const before = list().filter((k) => k !== key)
  if (text === '') {
    remove(key)
    write(listKey, JSON.stringify(before))
    return
  }
  const now = [...before, key]
  for (const old of now.splice(0, Math.max(0, now.length - mostDrafts))) remove(old)
  write(key, text)
  write(listKey, JSON.stringify(now))
}

/** toolsWanted says whether the model may use tools. */
export function toolsWanted(): boolean {
  return read(toolsKey) !== 'off'
}

export function keepToolsWanted(on: boolean): void {
  if (on) remove(toolsKey)
  else write(toolsKey, 'off')
}

function list(): string[] {
  try {
    const kept = JSON.parse(read(listKey) ?? '[]') as unknown
    return Array.isArray(kept) ? kept.filter((k): k is string => typeof k === 'string' && k.startsWith('nanoclaw.draft.')) : []
  } catch {
    return []
  }
}

// A browser may have no room or no storage: then nothing is kept, and all else
// goes on.
function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value)
  } catch {
    // No room.
  }
}

function remove(key: string): void {
  try {
    localStorage.removeItem(key)
  } catch {
    // No storage.
  }
}
