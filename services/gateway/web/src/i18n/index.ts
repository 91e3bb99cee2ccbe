import { createI18n } from 'vue-i18n'
import en from './en'
import zh from './zh'

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
  locale: chosenLanguage(),
  fallbackLocale: 'en',
  messages: { en, zh },
})

/** speak changes the language and keeps the choice. */
export function speak(language: Language): void {
  i18n.global.locale.value = language
  localStorage.setItem(kept, language)
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : 'en'
}
