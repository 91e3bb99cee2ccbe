import type { Words } from '.'
import * as crawls from './words/crawls'
import * as files from './words/files'
import * as models from './words/models'
import * as shell from './words/shell'
import * as tools from './words/tools'
import { tokens, trace, usage } from './words/account'
import { chat, markdown, toolCall } from './words/chat'

const words: Words = {
  ...shell.zh,
  chat: chat.zh,
  crawls: crawls.zh,
  files: files.zh,
  markdown: markdown.zh,
  models: models.zh,
  tokens: tokens.zh,
  toolCall: toolCall.zh,
  tools: tools.zh,
  trace: trace.zh,
  usage: usage.zh,
}

export default words
