// The one place where HTML that was made from foreign text becomes HTML that may
// stand in the page.
import DOMPurify from 'dompurify'

const html = ['a', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 's', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul']
const math = [
  'math', 'menclose', 'merror', 'mfrac', 'mi', 'mmultiscripts', 'mn', 'mo', 'mover', 'mpadded', 'mphantom', 'mprescripts', 'mroot', 'mrow', 'ms', 'mspace', 'msqrt',
  'mstyle', 'msub', 'msubsup', 'msup', 'mtable', 'mtd', 'mtext', 'mtr', 'munder', 'munderover',
]
const attributes = [
  'href', 'class', 'start', 'tabindex', 'data-cite', 'data-lang',
  'accent', 'accentunder', 'columnalign', 'columnspacing', 'depth', 'display', 'displaystyle', 'fence', 'height', 'linethickness', 'lspace', 'mathvariant', 'maxsize', 'minsize',
  'notation', 'rowspacing', 'rspace', 'scriptlevel', 'separator', 'stretchy', 'symmetric', 'voffset', 'width',
]

const purifier = DOMPurify(window)

// Read once: reading it again with each text would cost more than the text.
purifier.setConfig({
  ALLOWED_TAGS: [...html, ...math],
  ALLOWED_ATTR: attributes,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ADD_URI_SAFE_ATTR: attributes.filter((name) => name !== 'href'), // the others hold no address
})

purifier.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName !== 'A') return
  const to = linkOf(node.getAttribute('href') ?? '')
  if (!to) {
    node.removeAttribute('href')
    return
  }
  node.setAttribute('target', '_blank')
  node.setAttribute('rel', 'noopener noreferrer nofollow')
  // Where a link really leads is shown, whatever its words say.
  node.setAttribute('title', to.host || to.href)
})

/** sanitize keeps the elements and attributes that our renderer writes, and
 * nothing else: no scripts, no styles, nothing that is fetched by itself. */
export function sanitize(source: string): string {
  return purifier.sanitize(source)
}

/** linkOf is the address of a link that may be followed: http, https or mailto,
 * and whole. */
export function linkOf(href: string): URL | undefined {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href)) return undefined
  try {
    return new URL(href)
  } catch {
    return undefined
  }
}
