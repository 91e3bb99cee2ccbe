import { describe, expect, it } from 'vitest'
import type { JSONSchema } from '@/api/wire'
import { fieldsOf, objectOf, readingOf, valuesOf } from './schema'

const schema: JSONSchema = {
  type: 'object',
  required: ['url', 'code'],
  properties: {
    depth: { type: 'integer', minimum: 1, maximum: 3, default: 1 },
    code: { type: 'string', minLength: 2, maxLength: 5 },
    url: { type: 'string', pattern: '^https?://' },
    ratio: { type: 'number' },
    mode: { enum: ['a', 2] },
    deep: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 },
    pairs: { type: 'array', items: { type: 'object' } },
    any: {},
    maybe: { type: ['string', 'null'] },
  },
}
const fields = fieldsOf(schema)
const good = { url: 'https://a', code: 'ab' }

describe('fields', () => {
  it('have controls by their types, and those that are needed come first', () => {
    expect(fields.map((f) => [f.name, f.kind, f.required])).toEqual([
      ['url', 'text', true], ['code', 'area', true], ['depth', 'integer', false], ['ratio', 'number', false], ['mode', 'choice', false],
      ['deep', 'boolean', false], ['tags', 'list', false], ['pairs', 'json', false], ['any', 'json', false], ['maybe', 'text', false],
    ])
  })
  it('are none for a tool without arguments', () => {
    expect(fieldsOf(undefined)).toEqual([])
    expect(fieldsOf({ type: 'object' })).toEqual([])
  })
})

describe('arguments', () => {
  it('have the types of the schema, and nothing that is not given', () => {
    const values = { ...good, depth: '2', ratio: '0.5', mode: '2', deep: 'false', tags: 'x\n\n y ', pairs: '[{"a":1}]', any: 'null', maybe: '' }
    expect(readingOf(fields, values)).toEqual({
      flaws: {},
      arguments: { ...good, depth: 2, ratio: 0.5, mode: 2, deep: false, tags: ['x', 'y'], pairs: [{ a: 1 }], any: null },
    })
  })
  it.each([
    ['nothing where something is needed', { url: '' }, 'url', { key: 'required', values: {} }],
    ['a form that is not kept', { url: 'ftp://a' }, 'url', { key: 'pattern', values: { pattern: '^https?://' } }],
    ['too short', { code: 'a' }, 'code', { key: 'short', values: { min: 2 } }],
    ['too long', { code: 'abcdef' }, 'code', { key: 'long', values: { max: 5 } }],
    ['no number', { ratio: 'x' }, 'ratio', { key: 'number', values: {} }],
    ['endless', { ratio: '1e999' }, 'ratio', { key: 'number', values: {} }],
    ['not whole', { depth: '1.5' }, 'depth', { key: 'whole', values: {} }],
    ['too small', { depth: '0' }, 'depth', { key: 'min', values: { min: 1 } }],
    ['too large', { depth: '4' }, 'depth', { key: 'max', values: { max: 3 } }],
    ['too many lines', { tags: 'a\nb\nc' }, 'tags', { key: 'manyItems', values: { max: 2 } }],
  ])('%s is told', (_, values, name, flaw) => {
    expect(readingOf(fields, { ...good, ...values }).flaws).toEqual({ [name]: flaw })
  })
  it('characters beyond the first plane count as one', () => {
    expect(readingOf(fields, { ...good, code: '😀😀😀😀😀' }).flaws).toEqual({})
  })
  it('what is no JSON is told', () => {
    expect(readingOf(fields, { ...good, any: '{' }).flaws.any?.key).toBe('notJSON')
  })
})

describe('writing arguments back', () => {
  it('gives the same arguments again', () => {
    const args = { ...good, depth: 3, deep: true, tags: ['a', 'b'], mode: 'a', pairs: [{}] }
    const values = valuesOf(fields, args)
    expect(readingOf(fields, values ?? {}).arguments).toEqual(args)
  })
  it.each([
    ['an argument without a field', { ...good, other: 1 }],
    ['a text of another type', { ...good, url: 5 }],
    ['an item with a line end', { ...good, tags: ['a\nb'] }],
    ['nothing where there would be nothing', { ...good, maybe: '' }],
  ])('is not done for %s', (_, args) => {
    expect(valuesOf(fields, args)).toBeUndefined()
  })
})

it.each([
  ['', { arguments: {} }],
  ['{"a":1}', { arguments: { a: 1 } }],
  ['[1]', { problem: '[…]' }],
  ['"x"', { problem: 'string' }],
])('arguments as JSON: %s', (text, read) => {
  expect(objectOf(text)).toEqual(read)
})
