/** `tools/list` and `tools/call`: the same reads for hosts that know only tools, read-only and under the same scopes (C12). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import { cursorParams, TOOL_INPUTS, TOOL_OUTPUTS, type ToolName, toolParams } from '../wire/mcp.ts'
import { cardBinding } from './resource-methods.ts'
import {
  changesSinceCursor,
  fetchRecord,
  listRecords,
  readRecord,
  search,
  toolError,
  whatsChanged,
} from './tool-runs.ts'
import type { CallContext } from './visible-records.ts'

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
  tool(
    'changes_since',
    {
      input: TOOL_INPUTS.changes_since,
      title: 'What was written since you last asked',
      description:
        'Every correction since the cursor of your last call, with previous values and retractions to say. Call it before you speak; keep its cursor for the next call.',
      hasCard: false,
    },
    changesSinceCursor,
  ),
  tool(
    'search',
    {
      input: TOOL_INPUTS.search,
      title: 'Search care records',
      description: 'Finds care records that you may read, by words of patient, topic or text.',
      hasCard: false,
    },
    search,
  ),
  tool(
    'fetch',
    {
      input: TOOL_INPUTS.fetch,
      title: 'Fetch a care record',
      description:
        'Reads a found record: a retraction to say first, what holds, and its age. What has the audience "assistant" in its metadata is never spoken.',
      hasCard: false,
    },
    fetchRecord,
  ),
]

/** The tools, in one page. */
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
