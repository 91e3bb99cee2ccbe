import * as crawls from './words/crawls'
import * as files from './words/files'
import * as models from './words/models'
import * as shell from './words/shell'
import * as tools from './words/tools'
import { tokens, trace, usage } from './words/account'
import { chat, markdown, toolCall } from './words/chat'

// The texts of the app; each part of it has a file of its own.
export default {
  ...shell.en,
  chat: chat.en,
  crawls: crawls.en,
  files: files.en,
  markdown: markdown.en,
  models: models.en,
  tokens: tokens.en,
  toolCall: toolCall.en,
  tools: tools.en,
  trace: trace.en,
  usage: usage.en,
}
