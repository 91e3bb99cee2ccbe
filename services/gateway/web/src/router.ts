import { createRouter, createWebHistory } from 'vue-router'

export const router = createRouter({
  history: createWebHistory(),
  routes: [
    { path: '/', name: 'home', component: () => import('./views/ChatView.vue') },
    { path: '/c/:id', name: 'conversation', component: () => import('./views/ChatView.vue'), props: true },
    { path: '/runs/:id', name: 'run', component: () => import('./views/RunView.vue'), props: true, meta: { title: 'nav.trace' } },
    { path: '/crawls', name: 'crawls', component: () => import('./views/CrawlsView.vue'), meta: { title: 'nav.crawls' } },
    { path: '/crawls/:id', name: 'crawl', component: () => import('./views/CrawlView.vue'), props: true, meta: { title: 'nav.crawls' } },
    { path: '/tools/:name?', name: 'tools', component: () => import('./views/ToolsView.vue'), props: true, meta: { title: 'nav.tools' } },
    { path: '/files/:workspace?', name: 'files', component: () => import('./views/FilesView.vue'), props: true, meta: { title: 'nav.files' } },
    { path: '/usage', name: 'usage', component: () => import('./views/UsageView.vue'), meta: { title: 'nav.usage' } },
    { path: '/tokens', name: 'tokens', component: () => import('./views/TokensView.vue'), meta: { title: 'nav.tokens' } },
    { path: '/models', name: 'models', component: () => import('./views/ModelsView.vue'), meta: { title: 'nav.models' } },
    { path: '/:rest(.*)*', name: 'nowhere', component: () => import('./views/NowhereView.vue') },
  ],
})
