// Says how much script the app loads before its first page stands there, and
// fails when it is more than it may be: make lint runs it.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const most = 170 * 1024
const dist = process.argv[2] ?? fileURLToPath(new URL('../internal/webui/dist', import.meta.url))
const assets = `${dist}/assets`

// What the page itself asks for, and the views that the first page is made of.
const page = readFileSync(`${dist}/index.html`, 'utf8')
const asked = [...page.matchAll(/assets\/([^"]+\.js)/g)].map((m) => m[1])
const views = ['HomeView', 'ChatView', 'ConversationList'].map((view) => {
  const file = readdirSync(assets).find((name) => name.startsWith(`${view}-`) && name.endsWith('.js'))
  if (!file) throw new Error(`there is no script of ${view} in ${assets}`)
  return file
})

// With everything that they import at once.
const loaded = new Map()
const next = [...asked, ...views]
for (let name = next.pop(); name; name = next.pop()) {
  if (loaded.has(name)) continue
  const script = readFileSync(`${assets}/${name}`, 'utf8')
  loaded.set(name, gzipSync(script, { level: 9 }).length)
  next.push(...[...script.matchAll(/(?:from|import)\s*["'`]\.\/([^"'`]+\.js)["'`]/g)].map((m) => m[1]))
}

const sum = [...loaded.values()].reduce((a, b) => a + b, 0)
const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`
console.log(`web: the first page loads ${kib(sum)} of script, packed, in ${loaded.size} files; it may be ${kib(most)}`)
if (sum > most) {
  for (const [name, size] of [...loaded].sort((a, b) => b[1] - a[1]).slice(0, 12)) console.error(`  ${kib(size).padStart(10)}  ${name}`)
  process.exit(1)
}
