import type { Words } from '.'
import { zh as crawls } from './words/crawls.zh'
import { zh as files } from './words/files.zh'
import { zh as models } from './words/models.zh'
import { zh as shell } from './words/shell.zh'
import { zh as tools } from './words/tools.zh'
import { tokens, trace, usage } from './words/account.zh'
import { chat, markdown, toolCall } from './words/chat'

const words: Words = {
  ...shell,
  chat: chat.zh,
  crawls,
  files,
  markdown: markdown.zh,
  models,
  tokens,
  toolCall: toolCall.zh,
  tools,
  trace,
  usage,
}

export default words
