import { expect, it } from 'vitest'
import { rowsOf } from './csv'

it.each<[string, string, string[][]]>([
  ['lines and commas', 'a,b\n1,2\n', [['a', 'b'], ['1', '2']]],
  ['any end of line, and none at the end', 'a,b\r\n1,2\r3,4', [['a', 'b'], ['1', '2'], ['3', '4']]],
  ['quotes with commas, lines and quotes in them', '"a,1","b\n2","c""3"\n', [['a,1', 'b\n2', 'c"3']]],
  ['tabs', 'a\tb\n1,5\t2', [['a', 'b'], ['1,5', '2']]],
  ['semicolons', 'a;b\n1,5;2', [['a', 'b'], ['1,5', '2']]],
  ['a comma in quotes is no separator', '"a,b,c";d', [['a,b,c', 'd']]],
  ['the mark of UTF-8', '\uFEFFa,b', [['a', 'b']]],
  ['empty cells', ',\n,x', [['', ''], ['', 'x']]],
  ['a quote that is never closed', 'a,"b\nc', [['a', 'b\nc']]],
  ['a quote within a word', 'a"b,c', [['a"b', 'c']]],
  ['nothing', '', []],
])('%s', (_, text, rows) => {
  expect(rowsOf(text, 100)).toEqual(rows)
})

it('reads no more rows than it is asked for', () => {
  expect(rowsOf('a\n'.repeat(1000), 3)).toEqual([['a'], ['a'], ['a']])
})
