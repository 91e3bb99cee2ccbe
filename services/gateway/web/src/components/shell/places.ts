import { Activity, Boxes, FolderOpen, Globe, KeyRound, Wrench } from '@lucide/vue'

/** The pages beside the conversations: where they are, what they are called, and
 * the key that leads there after g. */
export const places = [
  { to: '/crawls', name: 'crawls', icon: Globe, key: 'c' },
  { to: '/tools', name: 'tools', icon: Wrench, key: 't' },
  { to: '/files', name: 'files', icon: FolderOpen, key: 'f' },
  { to: '/usage', name: 'usage', icon: Activity, key: 'u' },
  { to: '/models', name: 'models', icon: Boxes, key: 'm' },
  { to: '/tokens', name: 'tokens', icon: KeyRound, key: 'k' },
] as const
