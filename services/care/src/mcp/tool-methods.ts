/** `tools/list` and `tools/call`: the same reads for hosts that know only tools, read-only and under the same scopes (C12). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import { reachWithin } from '../domain/care-record.ts'
import { ageLine, isStale } from '../domain/staleness.ts'
import {
  cursorParams,
  TOOL_INPUTS,
  TOOL_OUTPUTS,
  type ToolInput,
  type ToolName,
  type ToolOutput,
  toolParams,
} from '../wire/mcp.ts'
import { chainUri, parseRecordUri, versionUri } from '../wire/record-uri.ts'
import { changesSince } from './changes-since.ts'
import { cardBinding, recordBroken, resourceNotFound } from './resource-methods.ts'
import {
  type CallContext,
  readChainPage,
  readVisible,
  recordAge,
  recordAnnotations,
  recordMeta,
  recordText,
  visibleReach,
} from './visible-records.ts'

const schemaOf = (schema: z.ZodType, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { target: 'draft-2020-12', io })

/** A tool as listed, and how it runs. With `hasCard`, the card can show its answer. */
function tool<Input extends z.ZodType>(
  name: ToolName,
  words: {
    readonly input: Input
    readonly title: string
    readonly description: string
    readonly hasCard: boolean
  },
  run: (context: CallContext, query: z.output<Input>) => Promise<Result>,
) {
  const { input, title, description, hasCard } = words
  const inputSchema = schemaOf(input, 'input')
  const outputSchema = schemaOf(TOOL_OUTPUTS[name], 'output')
  const annotations = {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  }
  return {
    hasCard,
    shown: { name, title, description, inputSchema, outputSchema, annotations },
    run: (context: CallContext, given: unknown) => run(context, parseParams(input, given)),
  }
}

const TOOLS = [
  tool(
    'list_records',
    {
      input: TOOL_INPUTS.list_records,
      title: 'List care records',
      description: 'Lists the care records that you may read, one line per record.',
      hasCard: false,
    },
    listRecords,
  ),
  tool(
    'read_record',
    {
      input: TOOL_INPUTS.read_record,
      title: 'Read a care record',
      description:
        'Reads a record with its age. Read right before speaking; say a retraction first. Records of audience "assistant" are never spoken.',
      hasCard: true,
    },
    readRecord,
  ),
  tool(
    'whats_changed',
    {
      input: TOOL_INPUTS.whats_changed,
      title: 'What has changed',
      description:
        'What changed in a patient’s records since a time, with previous values and retractions to say.',
      hasCard: true,
    },
    whatsChanged,
  ),
]

/** The three tools, in one page. */
export async function listTools(context: CallContext, params: unknown): Promise<Result> {
  parseParams(cursorParams, params)
  const _meta = cardBinding(context.serviceName)
  return { tools: TOOLS.map(({ hasCard, shown }) => (hasCard ? { ...shown, _meta } : shown)) }
}

/** Runs a tool. What a model can correct (its arguments, a URI that does not exist) is a result with `isError`, as MCP requires. */
export async function callTool(context: CallContext, params: unknown): Promise<Result> {
  const { name, arguments: given = {} } = parseParams(toolParams, params)
  const called = TOOLS.find(({ shown }) => shown.name === name)
  if (called === undefined)
    throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown tool')
  try {
    return await called.run(context, given)
  } catch (error) {
    if (error instanceof RpcFailure && error.code === RPC_CODES.invalidParams)
      return toolError(error.message.replace(/^params/, 'arguments'))
    throw error
  }
}

function toolError(text: string): Result {
  return { content: [{ type: 'text', text }], isError: true }
}

async function listRecords(
  context: CallContext,
  query: ToolInput<'list_records'>,
): Promise<Result> {
  const reach = reachWithin(visibleReach(context), query.patient)
  const { heads, nextCursor } = await readChainPage(context, { reach, cursor: query.cursor })
  const records = heads.map((head) => ({
    uri: chainUri(head),
    patient: head.patient,
    domain: head.domain,
    audience: head.audience,
    version: head.latestVersion,
    writtenAt: head.writtenAt,
    priority: head.priority,
  }))
  const structuredContent: ToolOutput<'list_records'> = { records, nextCursor }
  const lines = records.map(({ uri, version }) => `${uri} (version ${version})`)
  const text = lines.length === 0 ? 'No records.' : lines.join('\n')
  return { content: [{ type: 'text', text }], structuredContent }
}

async function readRecord(
  context: CallContext,
  { uri }: ToolInput<'read_record'>,
): Promise<Result> {
  const parsed = parseRecordUri(uri)
  if (parsed === undefined || parsed.isAudio) return toolError(resourceNotFound(uri).message)
  const outcome = await readVisible(context, parsed)
  if (outcome.kind === 'absent') return toolError(resourceNotFound(uri).message)
  if (outcome.kind === 'broken') return toolError(recordBroken().message)
  const { record, retraction, previousValue, latestVersion } = outcome
  const age = recordAge(context, record)
  const structuredContent: ToolOutput<'read_record'> = {
    uri: versionUri(record, record.version),
    patient: record.patient,
    domain: record.domain,
    audience: record.audience,
    version: record.version,
    latestVersion,
    value: record.value,
    previousValue: previousValue ?? null,
    age: ageLine(age),
    stale: isStale(age),
    authorLabel: record.authorLabel,
    writtenAt: record.writtenAt,
    retraction,
  }
  const said = recordText(context, record)
  const text = retraction === undefined ? said : `${retraction}\n${said}`
  return {
    content: [{ type: 'text', text, annotations: recordAnnotations(record) }],
    structuredContent,
    _meta: recordMeta(context, outcome),
  }
}

async function whatsChanged(
  context: CallContext,
  query: ToolInput<'whats_changed'>,
): Promise<Result> {
  const { changed, failed, nextCursor, revisions } = await changesSince(context, query)
  const structuredContent: ToolOutput<'whats_changed'> = {
    patient: query.patient,
    asOf: new Date(context.clock.unixMs()).toISOString(),
    revisions,
    changed: changed.map(({ record, ...facts }) => ({
      ...facts,
      age: ageLine(recordAge(context, record)),
    })),
    failed: [...failed],
    nextCursor,
  }
  const text = [
    `${revisions} revision(s).`,
    ...changed.map(({ uri, retraction, value }) => `${uri}: ${retraction ?? `now ${value}`}`),
    ...failed.map((uri) => `${uri}: failed verification, say nothing of it`),
    ...(nextCursor === undefined ? [] : [`There is more: ask again with cursor ${nextCursor}`]),
  ].join('\n')
  return { content: [{ type: 'text', text }], structuredContent }
}
