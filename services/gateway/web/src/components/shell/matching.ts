/** matching answers the things whose name has every word of what is sought, those
 * that begin with it first. */
export function matching<T>(things: T[], sought: string, name: (thing: T) => string): T[] {
  const words = fold(sought).split(/\s+/).filter(Boolean)
  if (words.length === 0) return things
  const hits = things.filter((thing) => words.every((word) => fold(name(thing)).includes(word)))
  const first = words[0] ?? ''
  return [...hits.filter((thing) => fold(name(thing)).startsWith(first)), ...hits.filter((thing) => !fold(name(thing)).startsWith(first))]
}

// Upper and lower case, accents and full-width letters make no difference.
function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}
