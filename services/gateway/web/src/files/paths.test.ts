import { expect, it } from 'vitest'
import { contentAddress, crumbsOf, imageTypeOf, isPicture, languageOf, nameOf, viewOf } from './paths'

it('a path has a name and folders on the way', () => {
  expect(nameOf('a/b/c.txt')).toBe('c.txt')
  expect(nameOf('c.txt')).toBe('c.txt')
  expect(crumbsOf('a/b')).toEqual([{ name: 'a', path: 'a' }, { name: 'b', path: 'a/b' }])
  expect(crumbsOf('')).toEqual([])
})

it('any name stands in an address', () => {
  expect(contentAddress('w', 'a&b/c d?.txt')).toBe('/api/workspaces/w/files/content?path=a%26b%2Fc+d%3F.txt')
})

it.each([
  ['a.png', 'image/png', 'image'],
  ['a.svg', 'image/svg+xml', 'text'],
  ['a.csv', 'text/plain; charset=utf-8', 'table'],
  ['a', 'text/csv', 'table'],
  ['a.py', 'text/x-python', 'text'],
  ['a.json', 'application/json', 'text'],
  ['a.html', 'text/html', 'text'],
  ['a.png', 'text/plain', 'text'],
  ['a.zip', 'application/zip', 'none'],
  ['a', '', 'none'],
])('%s of the type %j is looked at as %s', (path, mime, view) => {
  expect(viewOf(path, mime)).toBe(view)
})

it.each([['a.PNG', 'image/png'], ['a.jpg', 'image/jpeg'], ['a.svg', ''], ['png', '']])('%s may be of the type %j', (path, type) => {
  expect(imageTypeOf(path)).toBe(type)
  expect(isPicture(type)).toBe(type !== '')
})

it.each([['x/main.GO', 'go'], ['notes', ''], ['a.b.py', 'python']])('%s is in %j', (path, language) => {
  expect(languageOf(path)).toBe(language)
})
