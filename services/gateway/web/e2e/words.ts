import en from '@/i18n/en'
import zh from '@/i18n/zh'

export { en, zh }

/** say fills the words of the app: say('Actions for {name}', { name }). */
export function say(words: string, values: Record<string, string | number> = {}): string {
  return words.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ''))
}
