import { computed } from 'vue'
import { i18n } from '@/i18n'

// Numbers and times as the chosen language writes them.
const tag = computed(() => (i18n.global.locale.value === 'zh' ? 'zh-CN' : 'en-GB'))

const number = computed(() => new Intl.NumberFormat(tag.value))
const brief = computed(() => new Intl.NumberFormat(tag.value, { notation: 'compact', maximumFractionDigits: 1 }))
const fraction = computed(() => new Intl.NumberFormat(tag.value, { maximumFractionDigits: 1 }))
const dollars = computed(() => new Intl.NumberFormat(tag.value, { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: 4 }))
const moment = computed(() => new Intl.DateTimeFormat(tag.value, { dateStyle: 'medium', timeStyle: 'short' }))
const day = computed(() => new Intl.DateTimeFormat(tag.value, { day: 'numeric', month: 'short', timeZone: 'UTC' }))
const relative = computed(() => new Intl.RelativeTimeFormat(tag.value, { numeric: 'auto' }))

export const count = (n: number): string => number.value.format(n)
export const compact = (n: number): string => brief.value.format(n)
export const decimal = (n: number): string => fraction.value.format(n)
export const money = (n: number): string => dollars.value.format(n)

/** when writes a time; nothing for one that is not set or not readable. */
export function when(time: string | undefined): string {
  const at = time ? new Date(time) : undefined
  return at && !Number.isNaN(at.getTime()) ? moment.value.format(at) : ''
}

/** dayOf writes a day as 2026-01-31. */
export function dayOf(date: string): string {
  const at = new Date(`${date}T00:00:00Z`)
  return Number.isNaN(at.getTime()) ? date : day.value.format(at)
}

const spans: [Intl.RelativeTimeFormatUnit, number][] = [['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000], ['second', 1000]]

/** ago writes how far a time is from now. */
export function ago(time: string | undefined, now = Date.now()): string {
  const at = time ? new Date(time).getTime() : Number.NaN
  if (Number.isNaN(at)) return ''
  const distance = at - now
  for (const [unit, length] of spans) {
    if (Math.abs(distance) >= length || unit === 'second') return relative.value.format(Math.trunc(distance / length), unit)
  }
  return ''
}

/** bytes writes a size in units of 1,024. */
export function bytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let unit = 0
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024
    unit++
  }
  return `${unit === 0 ? count(n) : decimal(n)} ${units[unit]}`
}

/** duration writes milliseconds. */
export function duration(ms: number): string {
  if (ms < 1000) return `${count(Math.round(ms))} ms`
  if (ms < 60_000) return `${decimal(ms / 1000)} s`
  const seconds = Math.round(ms / 1000)
  return `${count(Math.floor(seconds / 60))} min ${seconds % 60} s`
}
