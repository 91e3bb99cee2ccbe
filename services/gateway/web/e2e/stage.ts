// The world of the scenarios, as services/test/e2e tells it.

/** Stage is where things are; see stage_test.go. */
export interface Stage {
  app: string
  token: string
  direct: string
  control: string
  site: string
  slow_site: string
  hostile: string
  foreign: { conversation: string; run: string }
  many: string
  demo: string
  demo_question: string
  first_run: string
  screenshots: string
}

if (!process.env.E2E_STAGE) throw new Error('run these with make e2e: they need the world that it starts')
export const stage = JSON.parse(process.env.E2E_STAGE) as Stage

async function control(method: string, what: string): Promise<string> {
  const answer = await fetch(stage.control + what, { method })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${what}: ${text}`)
  return text
}

/** What scenarios do to the world. */
export const world = {
  cut: () => control('POST', '/cut'),
  cutStreams: (n: number) => control('POST', `/cut?streams=${n}`),
  cuts: async () => Number(await control('GET', '/cuts')),
  stop: () => control('POST', '/stop'),
  start: () => control('POST', '/start'),
  hold: (name: string) => control('POST', `/hold?name=${name}`),
  held: (name: string) => control('GET', `/held?name=${name}`),
  release: (name: string) => control('POST', `/release?name=${name}`),
}

/** api asks the server itself, not through the proxy, and answers the data. */
export async function api<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<T> {
  const form = body instanceof FormData
  const answer = await fetch(stage.app + path, {
    method,
    headers: { Authorization: `Bearer ${stage.token}`, ...(body && !form ? { 'Content-Type': 'application/json' } : {}) },
    body: form ? (body as FormData) : body ? JSON.stringify(body) : undefined,
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return (JSON.parse(text) as { data: T }).data
}

/** begin makes a conversation. */
export async function begin(title = ''): Promise<string> {
  return (await api<{ id: string }>('POST', '/api/conversations', { title })).id
}

/** ask sends a message and waits for its run to end, however it ends. */
export async function ask(conversation: string, content: string): Promise<void> {
  await fetch(`${stage.app}/api/conversations/${conversation}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${stage.token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ content, stream: false }),
  }).then((answer) => answer.text())
}
