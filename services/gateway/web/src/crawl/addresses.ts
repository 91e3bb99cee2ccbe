// Addresses that people paste, line by line.

/** mostAddresses is how many one crawl takes. */
export const mostAddresses = 50
const longest = 2048

/** Flaw is what is wrong with a line. */
export interface Flaw {
  line: number
  kind: 'scheme' | 'address' | 'long' | 'credentials' | 'twice'
  /** Line where the same address stood before. */
  first?: number
  /** The address is left out, which keeps nobody from starting. */
  harmless: boolean
}

export interface Addresses {
  urls: string[]
  flaws: Flaw[]
}

/** addressesOf reads a list with one address a line. Empty lines do not count. */
export function addressesOf(text: string): Addresses {
  const urls: string[] = []
  const flaws: Flaw[] = []
  const seen = new Map<string, number>()
  for (const [i, raw] of text.split(/\r\n|\r|\n/).entries()) {
    const address = raw.trim()
    if (address === '') continue
    const line = i + 1
    const url = read(address)
    if (typeof url === 'string') {
      flaws.push({ line, kind: url, harmless: false })
      continue
    }
    url.hash = '' // two addresses that differ in nothing else are one page
    const first = seen.get(url.href)
    if (first !== undefined) {
      flaws.push({ line, kind: 'twice', first, harmless: true })
      continue
    }
    seen.set(url.href, line)
    urls.push(address)
  }
  return { urls, flaws }
}

function read(address: string): URL | Flaw['kind'] {
  if (address.length > longest) return 'long'
  if (!/^https?:\/\//i.test(address)) return 'scheme'
  let url: URL
  try {
    url = new URL(address)
  } catch {
    return 'address'
  }
  if (/\s/.test(address) || url.hostname === '') return 'address'
  return url.username || url.password ? 'credentials' : url
}
