import * as crawls from './words/crawls'
import * as files from './words/files'
import * as models from './words/models'
import * as shell from './words/shell'
import * as tools from './words/tools'
import { tokens, trace, usage } from './words/account'

// The texts of the app; each part of it has a file of its own.
export default {
  ...shell.en,
  crawls: crawls.en,
  files: files.en,
  models: models.en,
  tokens: tokens.en,
  tools: tools.en,
  trace: trace.en,
  usage: usage.en,
}
