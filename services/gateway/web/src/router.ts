import { createRouter, createWebHistory, type RouteRecordRaw } from 'vue-router'

/** routes are the pages; every one is loaded when it is first gone to. */
export const routes: RouteRecordRaw[] = [
  { path: '/', name: 'home', component: () => import('./views/HomeView.vue'), meta: { title: 'nav.newChat' } },
  { path: '/c/:id', name: 'conversation', component: () => import('./views/ChatView.vue'), props: true, meta: { title: 'nav.chat' } },
  { path: '/runs/:id', name: 'run', component: () => import('./views/RunView.vue'), props: true, meta: { title: 'nav.trace' } },
  { path: '/crawls', name: 'crawls', component: () => import('./views/CrawlsView.vue'), meta: { title: 'nav.crawls' } },
  { path: '/crawls/:id', name: 'crawl', component: () => import('./views/CrawlView.vue'), props: true, meta: { title: 'nav.crawls' } },
  { path: '/tools/:name?', name: 'tools', component: () => import('./views/ToolsView.vue'), props: true, meta: { title: 'nav.tools' } },
  { path: '/files/:workspace?', name: 'files', component: () => import('./views/FilesView.vue'), props: true, meta: { title: 'nav.files' } },
  { path: '/usage', name: 'usage', component: () => import('./views/UsageView.vue'), meta: { title: 'nav.usage' } },
  { path: '/tokens', name: 'tokens', component: () => import('./views/TokensView.vue'), meta: { title: 'nav.tokens' } },
  { path: '/models', name: 'models', component: () => import('./views/ModelsView.vue'), meta: { title: 'nav.models' } },
  { path: '/signin', name: 'signin', component: () => import('./views/SignInView.vue'), meta: { title: 'signin.title' } },
  { path: '/:rest(.*)*', name: 'nowhere', component: () => import('./views/NowhereView.vue'), meta: { title: 'nowhere.title' } },
]

export const router = createRouter({ history: createWebHistory(), routes })

// After an update the files of the old version are gone: the page that was asked
// for is loaded whole, once.
router.onError((error, to) => {
  const missing = error instanceof TypeError || /dynamically imported|preload/i.test(String(error))
  const key = `nanoclaw.reloaded:${to.fullPath}`
  if (!missing || sessionStorage.getItem(key)) return
  sessionStorage.setItem(key, 'yes')
  window.location.assign(to.fullPath)
})
