/**
 * x402 over MCP (X20): one paid call of a tool, behind the same gate as a route. The caller owns the server and its tools;
 * this reads the payment out of `_meta` and writes the result. https://github.com/x402-foundation/x402 transports-v2/mcp.md
 */
import { hash } from 'node:crypto'
import type { ChallengeError, PaymentTerms } from '../gate/challenge.ts'
import {
  type JobOptions,
  type PaymentOutcome,
  type PaymentProblem,
  paymentProblem,
  TERMS_UNKNOWN,
} from '../gate/paid-job.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { Settlement } from '../payment.ts'
import { canonicalJson } from '../receipts/signed-statement.ts'

const PAYMENT = 'x402/payment'
const PAYMENT_RESPONSE = 'x402/payment-response'
/** The only place where Cloudflare's client looks. */
const PAYMENT_ERROR = 'x402/error'

type Meta = Readonly<Record<string, unknown>>

/** A tool's result, as in MCP. */
export type ToolResult = {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[]
  /** An object, or what the caller's writer turns into one. */
  readonly structuredContent?: object
  readonly isError?: boolean
  readonly _meta?: Meta
}

/** One call of a tool, as it arrived: `arguments` without defaults, accepted by their schema. */
type ToolCall = {
  /** Address of the MCP endpoint, made from the public base URL. */
  readonly server: string
  readonly name: string
  readonly arguments?: unknown
  readonly _meta?: Meta | undefined
}

/** Our profile's name in the hash of a call, so that no other profile's hash can pass for it. */
const DOMAIN = 'tallystick:x402:mcp:1'

/**
 * SHA-256, hex, over the RFC 8785 form of a call: server, tool and raw arguments (`{}` if left out). `domain` is the name of
 * another profile. Throws RangeError for arguments that JSON cannot hold, or over 64 levels deep.
 */
export function toolCallHash(
  { arguments: values = {}, name, server }: Omit<ToolCall, '_meta'>,
  domain: string = DOMAIN,
): string {
  const call = { arguments: values, domain, metadata: [], method: 'tools/call', name, server }
  return hash('sha256', canonicalJson(call))
}

type PaidToolOptions<Prepared, Answer, Declined> = {
  readonly gate: PaymentGate
  /** Says what is on sale; undefined while that is unknown (X11). */
  readonly terms: PaymentTerms | undefined
  readonly call: ToolCall
  /** Its `toolCallHash`, if the caller already has it. */
  readonly callHash?: string | undefined
  /** The work of this call. Use `fingerprint` as the job's, so that a payment buys this tool with these arguments. */
  readonly job: (fingerprint: string) => JobOptions<Prepared, Answer, Declined>
  readonly render: (answer: Answer) => ToolResult
  readonly decline: (declined: Declined) => ToolResult
}

/**
 * Serves one call of a paid tool: without a payment the result says what to pay, in the three places that clients read;
 * with one it is settled once and answered. Call `delivered`, if there is one, when the result has left. Throws what the
 * job's `prepare` and the store throw, and RangeError for arguments that cannot be hashed.
 */
export async function callPaidTool<Prepared, Answer, Declined>(
  options: PaidToolOptions<Prepared, Answer, Declined>,
): Promise<{ readonly result: ToolResult; readonly delivered?: () => Promise<void> }> {
  const { call, callHash, gate, job, terms } = options
  if (terms === undefined) return { result: problem(TERMS_UNKNOWN) }
  const paymentSignature = encodeHeader(call._meta?.[PAYMENT])
  if (paymentSignature === undefined) return { result: unpaid(gate, terms, 'payment_required') }
  const work = job(`tools/call ${callHash ?? toolCallHash(call)}`)
  const outcome = await gate.pay({ paymentSignature }, terms, work)
  const result = toolResult(outcome, options, terms)
  const delivered = outcome.kind === 'paid' ? outcome.delivered : undefined
  return delivered === undefined ? { result } : { result, delivered }
}

/** A payment as a header carries it: clients send the object itself, or its base64. */
function encodeHeader(payment: unknown): string | undefined {
  if (payment === undefined || payment === null || typeof payment === 'string')
    return payment ?? undefined
  return Buffer.from(JSON.stringify(payment)).toString('base64')
}

function toolResult<Prepared, Answer, Declined>(
  outcome: PaymentOutcome<Answer, Declined>,
  { decline, gate, render }: PaidToolOptions<Prepared, Answer, Declined>,
  terms: PaymentTerms,
): ToolResult {
  switch (outcome.kind) {
    case 'paid':
      return withSettlement(render(outcome.answer), outcome.settlement)
    case 'challenged': {
      const challenge = unpaid(gate, terms, outcome.error)
      const { settlement } = outcome
      return settlement === undefined ? challenge : withSettlement(challenge, settlement)
    }
    case 'declined':
      return decline(outcome.declined)
    case 'pending':
    case 'unavailable':
    case 'key_conflict':
      return problem(paymentProblem(outcome))
    default:
      return outcome satisfies never
  }
}

/** The challenge, as `structuredContent`, as text and in `_meta`, since some clients read only one of them; or why there is none. */
function unpaid(gate: PaymentGate, terms: PaymentTerms, error: ChallengeError): ToolResult {
  const later = gate.challengeProblem(terms)
  if (later !== undefined) return problem(later)
  const { body } = gate.challenge(terms, error)
  const required = JSON.parse(body) as Record<string, unknown>
  return {
    isError: true,
    structuredContent: required,
    content: [{ type: 'text', text: body }],
    _meta: { [PAYMENT_ERROR]: required },
  }
}

/** A failure that must not look like a challenge: a client would sign a second payment. */
function problem({ error, retryAfterSeconds }: PaymentProblem): ToolResult {
  const said = { error, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) }
  return {
    isError: true,
    structuredContent: said,
    content: [{ type: 'text', text: JSON.stringify(said) }],
  }
}

function withSettlement(result: ToolResult, settlement: Settlement): ToolResult {
  return { ...result, _meta: { ...result._meta, [PAYMENT_RESPONSE]: settlement } }
}

/**
 * A paid tool's entry in `tools/list`, with its price in dollars for clients that show it. Throws RangeError if it declares
 * `outputSchema`: MCP clients would refuse the challenge as a result that does not match.
 */
export function listPaidTool<Tool extends { readonly name: string; readonly _meta?: Meta }>(
  tool: Tool,
  priceUsd: number,
): Tool & { readonly _meta: Meta } {
  if ('outputSchema' in tool && tool.outputSchema !== undefined)
    throw new RangeError(`the paid tool ${tool.name} declares an outputSchema`)
  const _meta = {
    ...tool._meta,
    'agents-x402/paymentRequired': true,
    'agents-x402/priceUSD': priceUsd,
  }
  return { ...tool, _meta }
}
