// Tables in text files.

/** rowsOf reads at most `most` rows of CSV (RFC 4180), with the separator that its
 * first line uses. A quote that is never closed ends with the text. */
export function rowsOf(text: string, most: number): string[][] {
  if (text.startsWith('\uFEFF')) text = text.slice(1)
  const separator = separatorOf(text)
  const rows: string[][] = []
  let row: string[] = []
  let value = ''
  let quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charAt(i)
    if (quoted) {
      if (c !== '"') value += c
      else if (text.charAt(i + 1) === '"') value += text.charAt(++i)
      else quoted = false
    } else if (c === '"' && value === '') {
      quoted = true
    } else if (c === separator) {
      row.push(value)
      value = ''
    } else if (c === '\n' || c === '\r') {
      if (c === '\r' && text.charAt(i + 1) === '\n') i++
      rows.push([...row, value])
      if (rows.length === most) return rows
      row = []
      value = ''
    } else {
      value += c
    }
  }
  if (value !== '' || row.length > 0) rows.push([...row, value])
  return rows
}

function separatorOf(text: string): string {
  const first = (/^[^\r\n]*/.exec(text)?.[0] ?? '').replace(/"[^"]*"/g, '')
  const count = (c: string) => first.split(c).length
  return [',', '\t', ';', '|'].reduce((best, c) => (count(c) > count(best) ? c : best))
}
