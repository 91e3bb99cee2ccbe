// Diagrams. Mermaid is loaded with the first one; what it draws is shown as a
// picture, which can neither run nor fetch anything.
let id = 0

/** Beyond this a diagram is shown as its source. */
export const mostSource = 20_000

type Mermaid = (typeof import('mermaid'))['default']

let loading: Promise<Mermaid> | undefined

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
  try {
    const { svg } = await mermaid.render(`md-diagram-${++id}`, source, place)
    return alone(svg)
  } finally {
    place.remove()
  }
}

/** alone makes an SVG that stands on its own, with its size and without anything
 * that is not drawn. */
export function alone(svg: string): string {
  const root = new DOMParser().parseFromString(svg, 'text/html').querySelector('svg')
  if (!root) throw new Error('Nothing was drawn.')
  for (const element of root.querySelectorAll('script, foreignObject, iframe, image, use, a, animate, set')) {
    if (element.nodeName.toLowerCase() === 'a') element.replaceWith(...element.childNodes)
    else element.remove()
  }
  for (const element of [root, ...root.querySelectorAll('*')]) {
    for (const { name } of [...element.attributes]) {
      if (/^on/i.test(name) || /^(xlink:)?href$/i.test(name)) element.removeAttribute(name)
    }
  }
  const [, , width, height] = (root.getAttribute('viewBox') ?? '').split(/\s+/).map(Number)
  if (width && height) {
    root.setAttribute('width', String(Math.ceil(width)))
    root.setAttribute('height', String(Math.ceil(height)))
  }
  root.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  return new XMLSerializer().serializeToString(root)
}
