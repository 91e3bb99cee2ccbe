// A form from a JSON Schema: the fields, what is written in them, and the
// arguments that come of it.
import type { JSONSchema } from '@/api/wire'

/** Kind of control that a field has. */
export type Kind = 'text' | 'area' | 'number' | 'integer' | 'choice' | 'boolean' | 'list' | 'json'

/** Field is one argument. */
export interface Field {
  name: string
  kind: Kind
  schema: JSONSchema
  required: boolean
  /** Choices of a choice, as JSON texts. */
  choices: string[]
}

/** Values are what is written in the fields; an empty text is an argument that is
 * not given. */
export type Values = Record<string, string>

/** Flaw says what is wrong with a field: a key of the words of the tools, and what
 * goes into it. */
export interface Flaw {
  key: 'required' | 'number' | 'whole' | 'min' | 'max' | 'short' | 'long' | 'fewItems' | 'manyItems' | 'pattern' | 'notJSON'
  values: Record<string, string | number>
}

export interface Reading {
  arguments: Record<string, unknown>
  flaws: Record<string, Flaw>
}

// Texts of these names have lines.
const areas = new Set(['code', 'content', 'text', 'command', 'body', 'prompt', 'script'])

/** fieldsOf answers the fields of a schema, those that are needed first. */
export function fieldsOf(schema: JSONSchema | undefined): Field[] {
  const required = new Set(schema?.required ?? [])
  const fields = Object.entries(schema?.properties ?? {}).map(([name, property]): Field => ({
    name,
    kind: kindOf(name, property),
    schema: property,
    required: required.has(name),
    choices: (property.enum ?? []).map((value) => JSON.stringify(value)),
  }))
  const place = (field: Field) => (field.required ? (schema?.required ?? []).indexOf(field.name) : Number.MAX_SAFE_INTEGER)
  return fields.sort((a, b) => place(a) - place(b))
}

function kindOf(name: string, schema: JSONSchema): Kind {
  if (schema.enum && schema.enum.length > 0) return 'choice'
  switch (Array.isArray(schema.type) ? schema.type.find((t) => t !== 'null') : schema.type) {
    case 'string':
      return areas.has(name) ? 'area' : 'text'
    case 'integer':
      return 'integer'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'array':
      return schema.items?.type === 'string' && !schema.items.enum ? 'list' : 'json'
    default:
      return 'json'
  }
}

/** readingOf reads what is written. */
export function readingOf(fields: Field[], values: Values): Reading {
  const reading: Reading = { arguments: {}, flaws: {} }
  for (const field of fields) {
    const text = values[field.name] ?? ''
    if (text === '' || (field.kind === 'list' && text.trim() === '')) {
      if (field.required) reading.flaws[field.name] = { key: 'required', values: {} }
      continue
    }
    const read = valueOf(field, text)
    if ('flaw' in read) reading.flaws[field.name] = read.flaw
    else reading.arguments[field.name] = read.value
  }
  return reading
}

type Read = { value: unknown } | { flaw: Flaw }

const flaw = (key: Flaw['key'], values: Flaw['values'] = {}): Read => ({ flaw: { key, values } })

function valueOf({ kind, schema }: Field, text: string): Read {
  switch (kind) {
    case 'number':
    case 'integer':
      return numberOf(schema, text, kind === 'integer')
    case 'boolean':
      return { value: text === 'true' }
    case 'list':
      return listOf(schema, text)
    case 'text':
    case 'area':
      return textOf(schema, text)
    default:
      return jsonOf(text)
  }
}

function numberOf(schema: JSONSchema, text: string, whole: boolean): Read {
  const n = Number(text)
  if (!Number.isFinite(n) || text.trim() === '') return flaw('number')
  if (whole && !Number.isInteger(n)) return flaw('whole')
  if (schema.minimum !== undefined && n < schema.minimum) return flaw('min', { min: schema.minimum })
  if (schema.maximum !== undefined && n > schema.maximum) return flaw('max', { max: schema.maximum })
  return { value: n }
}

function textOf(schema: JSONSchema, text: string): Read {
  const length = [...text].length // characters, as JSON Schema counts
  if (schema.minLength !== undefined && length < schema.minLength) return flaw('short', { min: schema.minLength })
  if (schema.maxLength !== undefined && length > schema.maxLength) return flaw('long', { max: schema.maxLength })
  if (schema.pattern && !fits(text, schema.pattern)) return flaw('pattern', { pattern: schema.pattern })
  return { value: text }
}

// A pattern that this browser does not know is left to the server.
function fits(text: string, pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

function listOf(schema: JSONSchema, text: string): Read {
  const items = text.split('\n').map((line) => line.trim()).filter(Boolean)
  if (schema.minItems !== undefined && items.length < schema.minItems) return flaw('fewItems', { min: schema.minItems })
  if (schema.maxItems !== undefined && items.length > schema.maxItems) return flaw('manyItems', { max: schema.maxItems })
  return { value: items }
}

function jsonOf(text: string): Read {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch (error) {
    return flaw('notJSON', { problem: error instanceof Error ? error.message : String(error) })
  }
}

/** valuesOf writes arguments into the fields; undefined when the form cannot show
 * all of them as they are. */
export function valuesOf(fields: Field[], args: Record<string, unknown>): Values | undefined {
  const values: Values = {}
  for (const field of fields) {
    const value = args[field.name]
    if (value === undefined) continue
    values[field.name] = written(field.kind, value)
  }
  const back = readingOf(fields, values)
  return same(back.arguments, args) ? values : undefined
}

function written(kind: Kind, value: unknown): string {
  if (kind === 'list' && Array.isArray(value)) return value.join('\n')
  if (kind === 'text' || kind === 'area') return typeof value === 'string' ? value : ''
  if (kind === 'number' || kind === 'integer' || kind === 'boolean') return String(value)
  return kind === 'json' ? JSON.stringify(value, null, 2) : JSON.stringify(value)
}

function same(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  const sorted = (o: Record<string, unknown>) => JSON.stringify(Object.entries(o).sort(([x], [y]) => (x < y ? -1 : 1)))
  return sorted(a) === sorted(b)
}

/** objectOf reads arguments that are written as JSON. */
export function objectOf(text: string): { arguments: Record<string, unknown> } | { problem: string } {
  if (text.trim() === '') return { arguments: {} }
  try {
    const value = JSON.parse(text) as unknown
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return { problem: Array.isArray(value) ? '[…]' : typeof value }
    return { arguments: value as Record<string, unknown> }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
