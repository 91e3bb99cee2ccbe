import { describe, expect, it } from 'vitest'
import { alone, drawDiagram, mostSource, withoutElements } from './mermaid'

describe('a diagram', () => {
  it.each([
    ['A["<img src=x>"]', 'A["#lt;img src=x>"]'], ['A["one<br/>two<BR>"]', 'A["one<br/>two<BR>"]'], ['A <|-- B', 'A <|-- B'], ['A <--> B', 'A <--> B'],
    ['class A {\n<<interface>>\n}', 'class A {\n<<interface>>\n}'], ['<<img onerror=x>', '<#lt;img onerror=x>'], ['</b>', '#lt;/b>'],
  ])('%j is drawn as %j', (source, drawn) => expect(withoutElements(source)).toBe(drawn))
  it.each([['graph TD\nA@{ img: "https://a.example" }'], ['graph TD\nstyle A fill:URL (https://a.example)'], ['x'.repeat(mostSource + 1)]])('is not drawn when it fetches or is too large', async (source) => {
    await expect(drawDiagram(source, false)).rejects.toThrow(/diagram/)
  })
  it('is a document of its own, with a size', () => {
    const svg = alone('<svg id="a" width="100%" style="max-width: 10px;" viewBox="0 0 10.2 20"><g><text>x<br>y</text></g></svg>')
    expect(svg).toBe('<svg xmlns="http://www.w3.org/2000/svg" width="11" height="20" id="a" viewBox="0 0 10.2 20"><g><text>x<br/>y</text></g></svg>')
  })
  it('has nothing in it that is not drawn', () => {
    const svg = alone('<svg viewBox="0 0 1 1" onload="x()"><script>x()</script><a xlink:href="javascript:x"><rect onclick="x()"/></a><foreignObject><img src="x"></foreignObject></svg>')
    expect(svg).not.toMatch(/script|onload|onclick|href|foreignObject/i)
  })
  it('is nothing without a drawing', () => expect(() => alone('<p>no</p>')).toThrow('Nothing was drawn.'))
})
