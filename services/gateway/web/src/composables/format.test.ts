import { afterEach, describe, expect, it } from 'vitest'
import { i18n } from '@/i18n'
import { ago, bytes, count, dayOf, duration, when } from './format'

afterEach(() => void (i18n.global.locale.value = 'en'))

describe('numbers and times', () => {
  it('are written as the language does', () => {
    expect([count(1234.5), dayOf('2026-01-31'), ago('2026-01-31T10:00:00Z', Date.parse('2026-01-31T12:30:00Z'))]).toEqual(['1,234.5', '31 Jan', '2 hours ago'])
    i18n.global.locale.value = 'zh'
    expect([dayOf('2026-01-31'), ago('2026-01-31T10:00:00Z', Date.parse('2026-01-31T12:30:00Z'))]).toEqual(['1月31日', '2小时前'])
  })
  it.each([[0, '0 B'], [1023, '1,023 B'], [1536, '1.5 KiB'], [268_435_456, '256 MiB'], [3e15, '2,728.5 TiB']])('%d bytes', (n, words) => expect(bytes(n)).toBe(words))
  it.each([[0, '0 ms'], [999.4, '999 ms'], [1500, '1.5 s'], [61_000, '1 min 1 s'], [3_600_000, '60 min 0 s']])('%d milliseconds', (n, words) => expect(duration(n)).toBe(words))
  it('are nothing when there is no time', () => {
    expect([when(undefined), when('soon'), ago(undefined), ago('soon'), dayOf('')]).toEqual(['', '', '', '', ''])
  })
})
