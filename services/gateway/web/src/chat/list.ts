// How the list of conversations is searched and ordered.
import type { Conversation } from '@/api/wire'

export type Age = 'today' | 'yesterday' | 'week' | 'earlier'

const day = 86_400_000

/** ageOf says how long ago something was, in days of the reader's clock. */
export function ageOf(time: string | undefined, now: Date): Age {
  const at = Date.parse(time ?? '')
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime()
  if (Number.isNaN(at) || at < midnight - 6 * day) return 'earlier'
  if (at >= midnight) return 'today'
  return at >= midnight - day ? 'yesterday' : 'week'
}

/** byAge puts conversations, newest first, into groups that are not empty. */
export function byAge(all: Conversation[], now: Date): { age: Age; items: Conversation[] }[] {
  const groups: { age: Age; items: Conversation[] }[] = []
  for (const one of all) {
    const age = ageOf(one.updated_at, now)
    const last = groups.at(-1)
    if (last?.age === age) last.items.push(one)
    else groups.push({ age, items: [one] })
  }
  return groups
}

/** matching are the conversations whose title has all of the words. */
export function matching(all: Conversation[], words: string): Conversation[] {
  const wanted = fold(words).split(/\s+/).filter(Boolean)
  return wanted.length === 0 ? all : all.filter((c) => wanted.every((w) => fold(c.title).includes(w)))
}

function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
