import { en as crawls } from './words/crawls'
import { en as files } from './words/files'
import { en as models } from './words/models'
import { en as shell } from './words/shell'
import { en as tools } from './words/tools'
import { tokens, trace, usage } from './words/account'
import { chat, markdown, toolCall } from './words/chat'

// The texts of the app; each part of it has a file of its own.
export default {
  ...shell,
  chat: chat.en,
  crawls,
  files,
  markdown: markdown.en,
  models,
  tokens,
  toolCall: toolCall.en,
  tools,
  trace,
  usage,
}
