import { describe, expect, it } from 'vitest'
import { addressesOf } from './addresses'

describe('addresses', () => {
  it('are read line by line, with any end of line, and empty lines do not count', () => {
    expect(addressesOf(' https://a.example/ \r\n\n  http://b.example/x?y=1\r')).toEqual({
      urls: ['https://a.example/', 'http://b.example/x?y=1'],
      flaws: [],
    })
  })

  it.each([
    ['a path', '/about', 'scheme'],
    ['a script', 'javascript:alert(1)', 'scheme'],
    ['a file', 'file:///etc/passwd', 'scheme'],
    ['a host alone', 'example.com', 'scheme'],
    ['no host', 'https://', 'address'],
    ['a space', 'https://a.example/a b', 'address'],
    ['a bad port', 'https://a.example:99999/', 'address'],
    ['a password', 'https://u:p@a.example/', 'credentials'],
    ['a very long one', `https://a.example/${'x'.repeat(2048)}`, 'long'],
  ])('%s is refused', (_, line, kind) => {
    expect(addressesOf(`https://ok.example/\n${line}`)).toEqual({ urls: ['https://ok.example/'], flaws: [{ line: 2, kind, harmless: false }] })
  })

  it('one that stands there twice is left out and told', () => {
    expect(addressesOf('https://A.example\nhttps://a.example/#top\nhttps://a.example/b')).toEqual({
      urls: ['https://A.example', 'https://a.example/b'],
      flaws: [{ line: 2, kind: 'twice', first: 1, harmless: true }],
    })
  })

  it('in other scripts are addresses', () => {
    expect(addressesOf('https://例子.测试/路径').urls).toEqual(['https://例子.测试/路径'])
  })
})
