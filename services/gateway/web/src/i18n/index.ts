import { createI18n } from 'vue-i18n'
import en from './en'

/** Words are the texts of a language. Every language has every one of them. */
export type Words = typeof en

export const languages = { en: 'English', zh: '中文' } as const
export type Language = keyof typeof languages

const kept = 'nanoclaw.language'

/** chosenLanguage is what was chosen here before, or what the browser prefers. */
export function chosenLanguage(): Language {
  const before = localStorage.getItem(kept)
  if (before === 'en' || before === 'zh') return before
  return navigator.languages.find((l) => /^(en|zh)\b/.test(l))?.startsWith('zh') ? 'zh' : 'en'
}

export const i18n = createI18n<[Words], Language, false>({
  legacy: false,
  locale: 'en',
  fallbackLocale: 'en',
  messages: { en, zh: {} as Words },
})

// English is there from the beginning; another language comes when it is spoken.
const come = new Set<Language>(['en'])

/** speak changes the language, and keeps the choice of a person. It stays as it is
 * when the words do not come. */
export async function speak(language: Language, chosen = true): Promise<void> {
  if (!come.has(language)) {
    i18n.global.setLocaleMessage('zh', (await import('./zh')).default)
    come.add(language)
  }
  i18n.global.locale.value = language
  if (chosen) localStorage.setItem(kept, language)
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
}
