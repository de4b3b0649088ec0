/** `tools/list` and `tools/call`: the same reads for hosts that know only tools, read-only and under the same scopes (C12). */
import type { CallToolRequestParams, Result } from '@modelcontextprotocol/sdk/types.js'
import { parseParams, RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'
import { TOOL_INPUTS, TOOL_OUTPUTS, type ToolInput, type ToolName } from '../../wire/mcp.ts'
import { say, textsIn } from '../../wire/texts.ts'
import type { CallContext } from '../records/visible-records.ts'
import { cardBinding } from './resource-methods.ts'
import {
  changesSinceCursor,
  fetchRecord,
  listRecords,
  readRecord,
  search,
  whatsChanged,
} from './tool-answers.ts'

const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output'): object =>
  z.toJSONSchema(schema, { target: 'draft-2020-12', io })

const INPUTS: { readonly [Name in ToolName]: z.ZodType<ToolInput<Name>> } = TOOL_INPUTS

/** For people, in the service's language (C37). Descriptions are for models, and English like the members that they name. */
type ToolTitle =
  | 'listTitle'
  | 'readTitle'
  | 'changesTitle'
  | 'behindTitle'
  | 'searchTitle'
  | 'fetchTitle'

/** A tool as listed, and how it runs. With `hasCard`, the card can show its answer. */
function tool<Name extends ToolName>(
  name: Name,
  words: { readonly title: ToolTitle; readonly description: string; readonly hasCard?: true },
  run: (context: CallContext, query: ToolInput<Name>) => Promise<Result>,
) {
  const { title, description, hasCard = false } = words
  const input = INPUTS[name]
  const inputSchema = toJsonSchema(input, 'input')
  const outputSchema = toJsonSchema(TOOL_OUTPUTS[name], 'output')
  const annotations = {
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
    openWorldHint: false,
  }
  return {
    hasCard,
    title,
    shown: { name, description, inputSchema, outputSchema, annotations },
    run: (context: CallContext, values: unknown) => run(context, parseParams(input, values)),
  }
}

const TOOLS = [
  tool(
    'list_records',
    {
      title: 'listTitle',
      description: 'Lists the care records that you may read, one line per record.',
    },
    listRecords,
  ),
  tool(
    'read_record',
    {
      title: 'readTitle',
      description:
        'Reads a record with its age. Read right before speaking; say a retraction first. Records of audience "assistant" are never spoken.',
      hasCard: true,
    },
    readRecord,
  ),
  tool(
    'whats_changed',
    {
      title: 'changesTitle',
      description:
        'What changed in a patient’s records since a time, with previous values and retractions to say.',
      hasCard: true,
    },
    whatsChanged,
  ),
  tool(
    'changes_since',
    {
      title: 'behindTitle',
      description:
        'Every correction since the cursor of your last call, with previous values and retractions to say. Call it before you speak; keep its cursor for the next call.',
    },
    changesSinceCursor,
  ),
  tool(
    'search',
    {
      title: 'searchTitle',
      description: 'Finds care records that you may read, by words of patient, topic or text.',
    },
    search,
  ),
  tool(
    'fetch',
    {
      title: 'fetchTitle',
      description:
        'Reads a found record: a retraction to say first, what holds, and its age. What has the audience "assistant" in its metadata is never spoken.',
    },
    fetchRecord,
  ),
]

export async function listTools(context: CallContext): Promise<Result> {
  const _meta = cardBinding(context.serviceName)
  const texts = textsIn(context.language)
  return {
    tools: TOOLS.map(({ hasCard, shown, title }) => ({
      ...shown,
      title: say(texts, title),
      ...(hasCard && { _meta }),
    })),
  }
}

/** Runs a tool. What a model can correct (its arguments, a URI that does not exist) is a result with `isError`, as MCP requires. */
export async function callTool(
  context: CallContext,
  { name, arguments: values = {} }: CallToolRequestParams,
): Promise<Result> {
  const called = TOOLS.find(({ shown }) => shown.name === name)
  if (called === undefined)
    throw new RpcFailure(RPC_CODES.invalidParams, 'params.name: unknown tool')
  try {
    return await called.run(context, values)
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error
    const text = error.message.replace(/^params/, 'arguments')
    return { content: [{ type: 'text', text }], isError: true }
  }
}
