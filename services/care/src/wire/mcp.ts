/** What MCP's methods take and the tools answer. Refusals name the path of a wrong value, never the value. */
import { LoggingLevelSchema } from '@modelcontextprotocol/sdk/types.js'
import { parseIsoTime } from '@tallystick/service-kit/clock'
import { z } from 'zod'
import { audience } from './audience.ts'
import { discoverExample, initializeExample } from './examples.ts'
import { nameText, status } from './records.ts'

/** One JSON-RPC message, only for the reference: mcp/edges/json-rpc.ts reads it. */
export const mcpMessage = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).optional(),
    method: z.string().optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({
    id: 'McpMessage',
    description: 'One JSON-RPC message of MCP.',
    examples: [initializeExample],
  })

/** One JSON-RPC message of the revision without sessions, only for the reference. */
export const modernMcpMessage = mcpMessage
  .extend({
    method: z.string(),
    params: z.looseObject({ _meta: z.looseObject({}) }).optional(),
  })
  .meta({
    id: 'ModernMcpMessage',
    description: 'One JSON-RPC message of MCP 2026-07-28, with its envelope.',
    examples: [discoverExample],
  })

/** More lenient than the SDK's: what a client is capable of is nothing that this server uses. */
export const initializeRequest = z.object({
  method: z.literal('initialize'),
  params: z.object({
    protocolVersion: z.string(),
    capabilities: z.looseObject({}),
    clientInfo: z.looseObject({ name: z.string(), version: z.string() }),
  }),
})

/** The severities of RFC 5424 in ascending order, as MCP names them. */
export const LOG_LEVELS = LoggingLevelSchema.options

export type LogLevel = z.infer<typeof LoggingLevelSchema>

/** A listen's request in 2026-07-28; kinds that this server never sends are not honoured, and need no check. */
export const listenParams = z.object({
  notifications: z.object({
    resourcesListChanged: z.boolean().optional(),
    resourceSubscriptions: z.array(z.string()).optional(),
  }),
})

const patient = nameText
const since = z.string().refine((text) => parseIsoTime(text) !== undefined, {
  message: 'expected an ISO 8601 time with its offset, or a date',
})

const cursor = z.string().optional().describe('nextCursor of the page before')
export const briefCarerParams = z.object({ arguments: z.object({ patient, cursor }) })
export const whatsChangedParams = z.object({
  arguments: z.object({ patient, since: since.optional(), cursor }),
})

/** Arguments of a query for changes, from the prompt or the tool. */
export type ChangesQuery = z.infer<typeof whatsChangedParams>['arguments']

/** What each tool takes; a tool refuses unknown members. */
export const TOOL_INPUTS = {
  list_records: z.strictObject({
    patient: patient.optional().describe('Only this patient’s records'),
    cursor,
  }),
  read_record: z.strictObject({
    uri: z
      .string()
      .describe('care://<patient>/<domain>, optionally /<version>; or care-internal://…'),
  }),
  whats_changed: z.strictObject({
    patient: patient.describe('Whose records'),
    since: since.optional().describe('ISO 8601 time; everything without it'),
    cursor,
  }),
  changes_since: z.strictObject({
    cursor: z.string().optional().describe('cursor of the answer before; everything without it'),
  }),
  search: z.strictObject({ query: z.string().describe('Words: patient, topic, what is said') }),
  fetch: z.strictObject({ id: z.string().describe('id of a result of search') }),
} as const

const spokenAudience = audience.describe('assistant: never to be spoken')
const ageWords = z.string().describe('The age in words for a person')
const language = z
  .string()
  .optional()
  .describe('BCP 47 tag of what the value is written in, if known')
const withdrawal = z.string().optional().describe('Say this in place of a value')
const retraction = z.string().optional().describe('Say this first')

const changedRecord = z.object({
  uri: z.string(),
  domain: z.string(),
  audience: spokenAudience,
  version: z.int(),
  revisions: z.int().describe('Versions written since, in this answer'),
  corrections: z.int().describe('How often the value changed since, in this answer'),
  value: z.string().describe('What holds now; empty if the record is withdrawn'),
  status,
  withdrawal,
  previousValue: z
    .string()
    .nullable()
    .describe(
      'What held at that time; of a record that is newer, the value before this one; null if that is nothing',
    ),
  withdrawn: z.array(z.string()).describe('Every earlier value that no longer holds'),
  age: z.string(),
  ageWords,
  authorLabel: z.string(),
  language,
  writtenAt: z.string(),
  retraction,
})

/** The answer of both tools about changes. */
const changes = {
  asOf: z.string(),
  revisions: z.int(),
  changed: z.array(changedRecord),
  failed: z.array(z.string()).describe('Records that failed verification: say nothing of them'),
}

export const TOOL_OUTPUTS = {
  list_records: z.object({
    records: z.array(
      z.object({
        uri: z.string(),
        patient: z.string(),
        domain: z.string(),
        audience: spokenAudience,
        version: z.int(),
        writtenAt: z.string(),
        priority: z.number().optional(),
        language,
      }),
    ),
    nextCursor: z.string().optional(),
  }),
  read_record: z.object({
    superseded: z
      .string()
      .optional()
      .describe('Say this first: this version was replaced, and what holds now'),
    uri: z.string().describe('The record, in all its versions'),
    patient: z.string(),
    domain: z.string(),
    audience: spokenAudience,
    version: z.int(),
    latestVersion: z.int(),
    value: z.string(),
    status,
    withdrawal,
    previousValue: z.string().nullable(),
    age: z.string(),
    ageWords,
    stale: z.boolean(),
    authorLabel: z.string(),
    language,
    writtenAt: z.string(),
    asOf: z.string(),
    retraction,
  }),
  whats_changed: z.object({
    patient: z.string(),
    ...changes,
    nextCursor: z.string().optional(),
  }),
  changes_since: z.object({
    ...changes,
    cursor: z.string().describe('Ask with it next time: nothing between is skipped'),
    truncated: z.boolean().describe('There is more behind the cursor: ask again at once'),
  }),
  search: z.object({
    results: z.array(z.object({ id: z.string(), title: z.string(), url: z.string() })),
  }),
  fetch: z.object({
    id: z.string(),
    title: z.string(),
    text: z.string(),
    url: z.string(),
    metadata: z.record(z.string(), z.string()),
  }),
} as const

export type ToolName = keyof typeof TOOL_INPUTS
export type ToolInput<Name extends ToolName> = z.infer<(typeof TOOL_INPUTS)[Name]>
export type ToolOutput<Name extends ToolName> = z.infer<(typeof TOOL_OUTPUTS)[Name]>
