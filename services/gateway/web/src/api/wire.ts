// The messages of the contracts as REST writes them: names in snake_case, every
// field with a value, members that are messages left out when they are not set.
import type * as run from '@gen/nanoclaw/orchestrator/v1/run_pb'
import type * as conversation from '@gen/nanoclaw/orchestrator/v1/conversation_pb'
import type * as account from '@gen/nanoclaw/orchestrator/v1/account_pb'
import type * as identity from '@gen/nanoclaw/orchestrator/v1/identity_pb'
import type * as tools from '@gen/nanoclaw/orchestrator/v1/tools_pb'
import type * as task from '@gen/nanoclaw/taskmanager/v1/task_pb'
import type * as workspace from '@gen/nanoclaw/sandbox/v1/workspace_pb'
import type * as search from '@gen/nanoclaw/search/v1/search_pb'

type SnakeCase<S extends string> = S extends `${infer Head}${infer Tail}`
  ? Head extends Lowercase<Head>
    ? `${Head}${SnakeCase<Tail>}`
    : `_${Lowercase<Head>}${SnakeCase<Tail>}`
  : S

// Present are the kinds of values that are written even when they are empty.
type Present = string | number | boolean | readonly unknown[]

/** Wire is the JSON of a generated type as it stands on the wire. */
export type Wire<T> = T extends number | 'NaN' | 'Infinity' | '-Infinity'
  ? number // the contracts have no other
  : T extends readonly (infer Item)[]
  ? Wire<Item>[]
  : T extends object
    ? {
        [K in keyof T as K extends string ? (NonNullable<T[K]> extends Present ? SnakeCase<K> : never) : never]-?: Wire<NonNullable<T[K]>>
      } & {
        [K in keyof T as K extends string ? (NonNullable<T[K]> extends Present ? never : SnakeCase<K>) : never]?: Wire<NonNullable<T[K]>>
      }
    : T

export type Conversation = Wire<conversation.ConversationJson>
export type Message = Wire<conversation.MessageJson>
export type Step = Wire<conversation.StepJson>
export type Run = Wire<run.RunJson>
export type RunError = Wire<run.RunErrorJson>
export type Usage = Wire<run.UsageJson>
export type TextPiece = Wire<run.TextPieceJson>
export type ToolCall = Wire<run.ToolCallJson>
export type ToolResult = Wire<run.ToolResultJson>
export type ToolProgress = Wire<run.ToolProgressJson>
export type Notice = Wire<run.NoticeJson>
export type Model = Wire<account.ModelJson>
export type ModelCheck = Wire<account.CheckModelResponseJson>
export type ServerInfo = Wire<account.GetServerInfoResponseJson>
export type UsageReport = Wire<account.GetUsageResponseJson>
export type Token = Wire<identity.TokenInfoJson>
export type NewToken = Wire<identity.CreateTokenResponseJson>
export type Tool = Omit<Wire<tools.ToolInfoJson>, 'parameters'> & { parameters?: JSONSchema }
export type CrawlTask = Wire<task.CrawlTaskJson>
export type CrawlResult = Wire<task.CrawlResultJson>
export type CrawlProgress = Wire<task.CrawlProgressJson>
export type CrawlPageDone = Wire<task.CrawlPageDoneJson>
export type CrawlHost = Wire<task.CrawlHostJson>
export type CrawlDone = Wire<task.CrawlDoneJson>
export type FileInfo = Wire<workspace.FileInfoJson>
export type Workspace = Wire<workspace.WorkspaceJson>
export type FileText = Wire<workspace.ReadFileResponseJson>
export type SearchAnswer = Wire<search.SearchResponseJson>

/** The events of a run, by name. */
export interface RunEvents {
  run_started: Wire<run.RunStartedJson>
  thinking: TextPiece
  message: TextPiece
  tool_args: Wire<run.ToolArgsJson>
  tool_call: Wire<run.ToolCallsJson>
  tool_progress: ToolProgress
  tool_result: Wire<run.ToolResultsJson>
  approval_required: Wire<run.ApprovalRequiredJson>
  approval_decided: Wire<run.ApprovalDecidedJson>
  usage: Wire<run.RoundUsageJson>
  notice: Notice
  round_restarted: Wire<run.RoundRestartedJson>
  done: Wire<run.DoneJson>
  error: RunError
  bye: Wire<run.ByeJson>
  ping: Wire<run.PingJson>
}

/** The events of a crawl, by name. */
export interface CrawlEvents {
  progress: CrawlProgress
  page: CrawlPageDone
  host: CrawlHost
  state: Wire<task.CrawlStateJson>
  done: CrawlDone
  bye: Wire<task.CrawlByeJson>
  ping: Wire<run.PingJson>
}

/** Page is a part of a list. */
export interface Page<T> {
  items: T[]
  next_cursor: string
  has_more: boolean
}

/** JSONSchema has the members that forms are made from. */
export interface JSONSchema {
  type?: string | string[]
  title?: string
  description?: string
  properties?: Record<string, JSONSchema>
  required?: string[]
  items?: JSONSchema
  enum?: unknown[]
  default?: unknown
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  pattern?: string
}
