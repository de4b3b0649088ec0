/**
 * The tools of `/mcp` (G10): three free looks, and the two sales of the paid routes, paid in `_meta` (X20). Each answers
 * what its route answers, from the same functions; mcp-route.ts speaks the protocol.
 */
import type { CallToolRequestParams } from '@modelcontextprotocol/sdk/types.js'
import type { ErrorAnswer, RequestIssue } from '@tallystick/service-kit'
import { callPaidTool, listPaidTool, type ToolResult } from '@tallystick/x402/mcp'
import { z } from 'zod'
import { calibrationAnswer } from '../domain/calibration/calibration.ts'
import type { GradingStore } from '../domain/closes/grading-store.ts'
import type { Grader } from '../domain/grading/grader.ts'
import { dependencyAnswer, errorAnswer, invalidRequest } from '../errors.ts'
import type { Asker, CoverageLook } from '../routes/coverage-route.ts'
import { readMembers } from '../routes/read-body.ts'
import {
  readSold,
  SALE_KINDS,
  type SaleDoorDeps,
  type SaleKind,
  saleJob,
} from '../routes/sale-job.ts'
import { PRICE_CENTS, TOOL_NAMES } from '../routes/sale-terms.ts'
import { calibrationRequestSchema } from '../wire/calibration.ts'
import { coverageFrameSchema, coverageRequestSchema } from '../wire/coverage.ts'
import { readPickSchema } from '../wire/mcp.ts'
import { auditSchema, gradeSchema } from '../wire/requests.ts'

export type GradingToolDeps = SaleDoorDeps & {
  readonly grader: Grader
  readonly store: GradingStore
  readonly coverage: CoverageLook
  /** Address of the endpoint; a payment for a call is tied to it. */
  readonly endpoint: string
}

/** Members as received, before any default. */
type ToolCall = CallToolRequestParams

/** Who calls: for limits and for the log. */
export type ToolCaller = Asker & { readonly requestId: string }

/** A result, and a function to call once it is sent. */
type CalledTool = {
  readonly result: ToolResult
  readonly delivered?: () => Promise<void>
}

const toInputSchema = (schema: z.ZodType) => {
  const { $schema: _draft, id: _id, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return { ...rest, type: 'object' as const }
}

const freeTool = (name: string, schema: z.ZodType, description: string) => ({
  name,
  description,
  inputSchema: toInputSchema(schema),
  annotations: { readOnlyHint: true, openWorldHint: false },
})

const paidTool = (kind: SaleKind, schema: z.ZodType, description: string) =>
  listPaidTool(
    {
      name: TOOL_NAMES[kind],
      description,
      inputSchema: toInputSchema(schema),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    Number(PRICE_CENTS[kind]) / 100,
  )

/** The entries of `tools/list`, always in this order. */
export const GRADING_TOOLS = [
  freeTool(
    'coverage',
    coverageRequestSchema,
    'Free. Whether a closing line is recorded, by market key or by sport, date and team names; with picks or a tracker’s csv, what would become of each bet. Ask before you pay: what has no recorded close is UNGRADED.',
  ),
  freeTool(
    'calibration',
    calibrationRequestSchema,
    'Free. The truth table: what the bets of each grade have returned, from settled results.',
  ),
  freeTool('read_pick', readPickSchema, 'Free. The current card of a paid pick, by its receipt.'),
  paidTool(
    'grade',
    gradeSchema,
    'Costs $0.01, paid by x402. Grades one bet against its recorded closing line and shows the result beside it. Malformed arguments cost nothing.',
  ),
  paidTool(
    'audit',
    auditSchema,
    'Costs $0.20, paid by x402. Audits 1 to 1,000 bets: return with flat stakes beside a Sharp Score, with every card.',
  ),
]

/** A result with an answer as text; grading-server.ts adds its value. */
const saidAs = (text: string): ToolResult => ({ content: [{ type: 'text', text }] })

const saidIn = (said: object): ToolResult => saidAs(JSON.stringify(said))

/** A failed call, with the route's answer. It never looks like a challenge. */
function failure({ details, error, headers }: ErrorAnswer): ToolResult {
  const retryAfter = headers?.['retry-after']
  const wait = retryAfter === undefined ? {} : { retryAfterSeconds: Number(retryAfter) }
  return { ...saidIn({ error, ...details, ...wait }), isError: true }
}

/** Faults in arguments are found where a route finds faults in its body. */
function malformed(issues: readonly RequestIssue[]): ToolResult {
  const ofArguments = issues.map(({ expected, field }) => ({
    field: field.replace(/^body/, 'arguments'),
    expected,
  }))
  return failure(invalidRequest(ofArguments))
}

/** A free tool: reads its arguments by their schema and answers, or says what is wrong with them. */
async function look<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  answer: (read: z.output<Schema>) => Promise<ToolResult>,
): Promise<ToolResult> {
  const parsed = readMembers(schema, input, 'arguments')
  return parsed.kind === 'read' ? await answer(parsed.data) : malformed(parsed.issues)
}

type FreeTool = (deps: GradingToolDeps, input: unknown, caller: ToolCaller) => Promise<ToolResult>

const FREE: Readonly<Record<string, FreeTool>> = {
  async coverage({ coverage }, input, asker) {
    const refusal = coverage.refuseAddress(asker)
    if (refusal !== undefined) return failure(refusal)
    return await look(coverageFrameSchema, input, async (body) => {
      const found = await coverage.look(body, asker)
      if (found.kind === 'answered') return saidAs(found.json)
      return found.kind === 'limited' ? failure(found.refusal) : malformed(found.issues)
    })
  },
  calibration: async ({ store }, input) =>
    await look(calibrationRequestSchema, input, async ({ filters }) =>
      saidIn(await calibrationAnswer(store, filters ?? {})),
    ),
  read_pick: async ({ grader }, input) =>
    await look(readPickSchema, input, async ({ receipt }) => {
      const card = await grader.findCard(receipt)
      return card === undefined ? failure(errorAnswer('not_found')) : saidIn(card)
    }),
}

const PAID = new Map(SALE_KINDS.map((kind) => [TOOL_NAMES[kind] as string, kind]))

const UNREADABLE = [
  { field: 'arguments', expected: 'text without lone surrogates, at most 64 levels deep' },
]
/** A payment for nothing: the payer is told what to send, and nothing is settled. */
const NOTHING_ASKED = [{ field: 'arguments', expected: 'what the payment is for' }]

async function sell(
  deps: GradingToolDeps,
  kind: SaleKind,
  { call, caller }: { readonly call: ToolCall; readonly caller: ToolCaller },
): Promise<CalledTool> {
  const { clock, endpoint, gate, findTerms } = deps
  const isPaid = (call._meta?.['x402/payment'] ?? undefined) !== undefined
  const paidCall = isPaid ? { server: endpoint, name: call.name } : undefined
  const read = await readSold(deps.longWork, kind, { body: call.arguments, paidCall })
  if (read.kind === 'malformed') return { result: malformed(read.issues) }
  if (isPaid && read.kind === 'probe') return { result: malformed(NOTHING_ASKED) }
  const callHash = read.kind === 'asked' ? read.callHash : undefined
  if (isPaid && callHash === undefined) return { result: malformed(UNREADABLE) }
  const receivedAtSeconds = clock.unixMs() / 1_000
  return await callPaidTool({
    gate,
    terms: findTerms(kind, 'mcp'),
    call: { server: endpoint, ...call },
    callHash,
    job(fingerprint) {
      if (read.kind !== 'asked') throw new Error('a call without arguments asks for the price')
      const { request, text } = read
      const { address: sender, requestId } = caller
      return saleJob(deps, { request, text, fingerprint, receivedAtSeconds, sender, requestId })
    },
    // The text is what the receipt's statement hashes.
    render: saidAs,
    decline: (declined: never) => declined,
  })
}

/**
 * Calls a tool; undefined if there is none of that name. A payment sent with a free tool is ignored. Throws bugs; a failed
 * dependency is a result.
 */
export async function callGradingTool(
  deps: GradingToolDeps,
  call: ToolCall,
  caller: ToolCaller,
): Promise<CalledTool | undefined> {
  const kind = PAID.get(call.name)
  const free = Object.hasOwn(FREE, call.name) ? FREE[call.name] : undefined
  try {
    if (kind !== undefined) return await sell(deps, kind, { call, caller })
    return free && { result: await free(deps, call.arguments ?? {}, caller) }
  } catch (error) {
    const failed = dependencyAnswer(error)
    if (failed === undefined) throw error
    return { result: failure(failed) }
  }
}
