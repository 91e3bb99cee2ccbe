import { expect, it } from 'vitest'
import { matching } from './matching'

const names = ['New conversation', 'Crawls', 'Café of the crawl', '抓取结果', 'Ｔｏｋｅｎｓ']

it.each<[string, string, string[]]>([
  ['nothing sought is everything', '  ', names],
  ['case makes no difference, and a beginning comes first', 'CRAWL', ['Crawls', 'Café of the crawl']],
  ['every word must be there', 'the cafe', ['Café of the crawl']],
  ['accents and widths make no difference', 'tokens', ['Ｔｏｋｅｎｓ']],
  ['Chinese', '结果', ['抓取结果']],
  ['nothing', 'zzz', []],
])('%s', (_, sought, found) => {
  expect(matching(names, sought, (n) => n)).toEqual(found)
})
