import { ask, api, begin, stage } from './stage'

/** View is a page of the app with something in it. */
export interface View {
  name: string
  path: string
  /** server is the address of another one. */
  address?: string
  /** shown is what tells that it is there. */
  shown: string
}

/** views fills the server, and lists every view. */
export async function views(): Promise<View[]> {
  const talk = await begin('How small are nanoclaws?')
  await ask(talk, 'Please look into nanoclaws, and show me where you read it.')
  await ask(talk, '[repeat] A list\n\n- with **words**\n- and `code`\n\n```python\nfor i in range(3):\n    print(i)\n```\n\n> a quotation\n\n$$e^{i\\pi} + 1 = 0$$\n\n![a picture](https://pictures.invalid/claw.png)\n\n```mermaid\ngraph LR\n  A[Question] --> B{Search}\n  B --> C[Answer]\n```')
  const failed = await begin('A failure')
  await ask(failed, '[refuse] The request was refused')
  const run = (await api<{ items: { run_id?: string }[] }>('GET', `/api/conversations/${talk}/messages`)).items.find((m) => m.run_id)?.run_id ?? ''
  const urls = [...Array.from({ length: 8 }, (_, i) => `${stage.site}/chapter-${i}`), 'http://127.0.0.1:9/closed']
  const { task_id: task } = await api<{ task_id: string }>('POST', '/api/crawler/tasks', { urls, parallel: 3 })
  for (const [name, text] of [['sizes.csv', 'part,size\ntip,40\nbase,90\n'], ['main.go', 'package main\n\nfunc main() {\n\tprintln("forty")\n}\n'], ['notes.txt', 'Nanoclaws are small.\n']] as const) {
    const form = new FormData()
    form.append('file', new Blob([text]), name)
    await api('POST', '/api/workspaces/research/files', form)
  }
  return [
    { name: 'home', path: '/', shown: '[data-composer]' },
    { name: 'chat', path: `/c/${talk}`, shown: '[data-answer][data-status=completed]' },
    { name: 'chat-failed', path: `/c/${failed}`, shown: '[data-answer][data-status=failed]' },
    { name: 'chat-gone', path: '/c/cnv_00000000000000000000000000', shown: 'main button' },
    { name: 'run', path: `/runs/${run}`, shown: 'main h1' },
    { name: 'crawls', path: '/crawls', shown: 'main a[href^="/crawls/"]' },
    { name: 'crawl', path: `/crawls/${task}`, shown: 'main table' },
    { name: 'tools', path: '/tools', shown: 'main a[href^="/tools/"]' },
    { name: 'tool', path: '/tools/web_search', shown: 'main form' },
    { name: 'files', path: '/files', shown: 'main h1' },
    { name: 'workspace', path: '/files/research', shown: 'main table, main ul' },
    { name: 'usage', path: '/usage', shown: 'main h1' },
    { name: 'models', path: '/models', shown: 'main h1' },
    { name: 'tokens', path: '/tokens', shown: 'main li' },
    { name: 'nowhere', path: '/nowhere', shown: 'main h1' },
    { name: 'first-run', path: '/', address: stage.first_run, shown: 'main h1' },
  ]
}

/** looks are the ways in which each view is looked at. */
export const looks = [
  { name: 'light', theme: 'light', phone: false },
  { name: 'dark', theme: 'dark', phone: false },
  { name: 'phone', theme: 'light', phone: true },
] as const
