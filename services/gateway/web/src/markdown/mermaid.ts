// Diagrams. Mermaid is loaded with the first one; what it draws is shown as a
// picture, which can neither run nor fetch anything.
let id = 0

/** Beyond this a diagram is shown as its source. */
export const mostSource = 20_000

type Mermaid = (typeof import('mermaid'))['default']

let loading: Promise<Mermaid> | undefined

// Pictures inside a diagram, and addresses in its styles.
const fetches = /@\{[^}]*\bimg\s*:|url\s*\(|@import/i

/** withoutElements leaves no HTML in a source but line breaks: Mermaid would put it
 * into the page for a moment to measure it. */
export function withoutElements(source: string): string {
  return source.replace(/<<[\w\s-]+>>|<br\s*\/?>|<(?=[a-z!/?])/gi, (found) => (found === '<' ? '#lt;' : found))
}

// One at a time: Mermaid keeps its settings in one place.
let turn: Promise<unknown> = Promise.resolve()

/** drawDiagram makes an SVG document of a source. It throws when that is no
 * diagram. */
export function drawDiagram(source: string, dark: boolean): Promise<string> {
  const mine = turn.then(() => draw(source, dark))
  turn = mine.catch(() => undefined)
  return mine
}

async function draw(source: string, dark: boolean): Promise<string> {
  if (source.length > mostSource) throw new Error('The diagram is too large.')
  if (fetches.test(source)) throw new Error('The diagram names something to be fetched.')
  const mermaid = await (loading ??= import('mermaid').then((m) => m.default, (error: unknown) => {
    loading = undefined
    throw error
  }))
  mermaid.initialize({
    startOnLoad: false, securityLevel: 'strict', theme: dark ? 'dark' : 'neutral', fontFamily: 'system-ui, sans-serif', htmlLabels: false, flowchart: { htmlLabels: false },
    secure: ['secure', 'securityLevel', 'startOnLoad', 'maxTextSize', 'maxEdges', 'themeCSS', 'themeVariables', 'theme', 'fontFamily', 'htmlLabels', 'flowchart', 'suppressErrorRendering'],
    suppressErrorRendering: true, maxTextSize: mostSource, maxEdges: 300,
  })
  // Drawn beside the page, where the letters have their size.
  const place = document.createElement('div')
  place.className = 'md-drawing'
  place.setAttribute('aria-hidden', 'true')
  document.body.append(place)
  const undo = styleByObject()
  try {
    const { svg } = await mermaid.render(`md-diagram-${++id}`, withoutElements(source), place)
    return alone(svg)
  } finally {
    undo()
    place.remove()
  }
}

// styleByObject makes what is drawn take its styles as the page's policy permits:
// not from attributes, but through the style object. It ends with the drawing.
function styleByObject(): () => void {
  const own = Object.getOwnPropertyDescriptor(SVGElement.prototype, 'setAttribute')
  const set = Element.prototype.setAttribute
  SVGElement.prototype.setAttribute = function (this: SVGElement, name: string, value: string) {
    if (name === 'style') this.style.cssText = value
    else set.call(this, name, value)
  }
  return () => {
    if (own) Object.defineProperty(SVGElement.prototype, 'setAttribute', own)
    else Reflect.deleteProperty(SVGElement.prototype, 'setAttribute')
  }
}

/** alone makes an SVG document that stands on its own and has a size. A picture
 * neither runs scripts nor fetches anything nor follows links, whatever it holds;
 * what would not be drawn is left out all the same. */
export function alone(svg: string): string {
  const open = /^\s*<svg\b[^>]*>/.exec(svg)?.[0]
  if (!open) throw new Error('Nothing was drawn.')
  const [, , width, height] = (/\bviewBox="([^"]*)"/.exec(open)?.[1] ?? '').split(/[\s,]+/).map(Number)
  const size = width && height ? ` width="${Math.ceil(width)}" height="${Math.ceil(height)}"` : ''
  const bare = open.replace(/\s(?:width|height|style|xmlns|on\w+)="[^"]*"/g, '').replace(/^\s*<svg/, `<svg xmlns="http://www.w3.org/2000/svg"${size}`)
  const rest = svg.slice(svg.indexOf('>') + 1)
    .replace(/<(script|foreignObject|iframe)\b[\s\S]*?<\/\1\s*>/gi, '')
    .replace(/\s(?:on\w+|(?:xlink:)?href)\s*=\s*(?:"[^"]*"|'[^']*')/gi, '')
    .replace(/<br\s*>/gi, '<br/>')
  return bare + rest
}
