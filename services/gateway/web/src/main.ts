import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { i18n, speak, chosenLanguage } from './i18n'
import { router } from './router'
import { startPreferences } from './stores/preferences'
import { startSession } from './stores/session'
import './styles/main.css'

startPreferences()
startSession()
// Before anything is shown, so that no page changes its language. English does for
// one whose words cannot be had.
void speak(chosenLanguage(), false)
  .catch(() => {})
  .then(() => createApp(App).use(createPinia()).use(i18n).use(router).mount('#app'))
