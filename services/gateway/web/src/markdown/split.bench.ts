// @vitest-environment jsdom
// What writing costs: one update of a text of some length, and the whole of it.
import { bench, describe } from 'vitest'
import { split, Splitter } from './split'

const paragraph = 'A paragraph with **bold**, `code`, a [link](https://a.example/x) and some more words, so that it is as long as one is.\n\n'
const list = '- one\n- two\n- three\n\n'
const table = '| a | b |\n|---|---|\n| 1 | 2 |\n\n'
const code = '```python\n' + 'def f(x):\n    return x + 1\n'.repeat(10) + '```\n\n'

const text = (length: number) => (paragraph + list + paragraph + table + code).repeat(Math.ceil(length / 700)).slice(0, length)

describe.each([10_000, 30_000, 60_000])('%d characters', (length) => {
  const whole = text(length)
  const splitter = new Splitter()
  for (let at = 64; at < whole.length; at += 64) splitter.update(whole.slice(0, at))
  let written = whole
  let updates = 0
  bench('one update', () => {
    written += 'some more words, 64 of their letters at once, as they come in.' + (++updates % 8 === 0 ? '\n\n' : '\n')
    splitter.update(written)
  })
  bench('the whole at once', () => void split(whole))
})

describe('300,000 characters in one line', () => {
  const line = 'word '.repeat(60_000)
  bench('at once', () => void split(line))
  bench('in code that is open', () => {
    const splitter = new Splitter()
    for (let at = 0; at < line.length; at += 3000) splitter.update('```\n' + line.slice(0, at))
  })
})
