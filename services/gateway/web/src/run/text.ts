// Text that is written piece by piece. Pieces say where they belong in bytes of
// UTF-8, so that what comes twice, or again from the beginning, doubles nothing.

/** Text is what was read so far of one text, and its length in bytes. */
export interface Text {
  readonly content: string
  readonly bytes: number
}

export const noText: Text = { content: '', bytes: 0 }

/** bytesOf is the length of a string in UTF-8. */
export function bytesOf(s: string): number {
  let n = 0
  for (let i = 0; i < s.length; i++) {
    const unit = s.charCodeAt(i)
    if (unit < 0x80) n += 1
    else if (unit < 0x800) n += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && isLow(s.charCodeAt(i + 1))) {
      n += 4
      i++
    } else n += 3
  }
  return n
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

// cut is the beginning of s of that many bytes, which end a character.
function cut(s: string, bytes: number): string {
  let n = 0
  let i = 0
  while (i < s.length && n < bytes) {
    const unit = s.charCodeAt(i)
    const pair = unit >= 0xd800 && unit < 0xdc00 && isLow(s.charCodeAt(i + 1))
    n += unit < 0x80 ? 1 : unit < 0x800 ? 2 : pair ? 4 : 3
    i += pair ? 2 : 1
  }
  return s.slice(0, i)
}

/**
 * put keeps text[:offset] and adds the piece. It answers undefined for a piece
 * that begins beyond the end: something before it is missing.
 */
export function put(text: Text, offset: number, content: string): Text | undefined {
  if (offset > text.bytes) return undefined
  const kept = offset === text.bytes ? text.content : cut(text.content, offset)
  return { content: kept + content, bytes: offset + bytesOf(content) }
}
