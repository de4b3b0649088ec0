// The conformance suite's calls that first need something from the client (SEP-2322): the answer names what is needed, and the
// client calls again with it and with the state that it got. For suite-server.fixture.ts.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import { z } from 'zod'

/** What the suite sends with each call that may take rounds. */
export const suiteCall = z.looseObject({
  name: z.string(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  inputResponses: z.record(z.string(), z.looseObject({})).optional(),
  requestState: z.string().optional(),
  _meta: z.object({ 'io.modelcontextprotocol/clientCapabilities': z.looseObject({}) }),
})
export type SuiteCall = z.infer<typeof suiteCall>

type InputRequest = { readonly method: string; readonly params: object }
type Inputs = Readonly<Record<string, InputRequest>>

/** The capability that a client needs to answer a method. */
const NEEDED_FOR: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
}

const elicit = (message: string, name: string, type = 'string'): InputRequest => ({
  method: 'elicitation/create',
  params: {
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type } }, required: [name] },
  },
})
const sample = (requested: string): InputRequest => ({
  method: 'sampling/createMessage',
  params: {
    messages: [{ role: 'user', content: { type: 'text', text: requested } }],
    maxTokens: 50,
  },
})
const roots: InputRequest = { method: 'roots/list', params: {} }
const name = elicit('What is your name?', 'name')
const confirm = elicit('Please confirm', 'ok', 'boolean')

/** By the tool's or prompt's name: what is needed in each round. */
export const ROUNDS: Readonly<Record<string, readonly [Inputs, ...Inputs[]]>> = {
  test_missing_capability: [{ question: sample('Which?') }],
  test_streaming_elicitation: [{ user_name: name }],
  test_input_required_result_elicitation: [{ user_name: name }],
  test_input_required_result_sampling: [{ question: sample('What is the capital of France?') }],
  test_input_required_result_list_roots: [{ client_roots: roots }],
  test_input_required_result_request_state: [{ confirm }],
  test_input_required_result_tampered_state: [{ confirm }],
  test_input_required_result_capabilities: [{ confirm, greeting: sample('A greeting') }],
  test_input_required_result_multiple_inputs: [
    { user_name: name, greeting: sample('A greeting'), client_roots: roots },
  ],
  test_input_required_result_multi_round: [{ step1: name }, { step2: elicit('Color?', 'color') }],
  test_input_required_result_prompt: [{ context: elicit('Which context?', 'context') }],
  test_tool_with_task: [{ user_name: name }],
}

const key = randomBytes(32)
const sign = (round: number): string =>
  `${round}.${createHmac('sha256', key).update(`${round}`).digest('base64url')}`

/** The round that a state belongs to; refuses one that was never issued. */
function readRound(state: string | undefined): number {
  if (state === undefined) return 0
  const round = Number.parseInt(state, 10)
  const [input, own] = [Buffer.from(state), Buffer.from(sign(round))]
  if (input.length === own.length && timingSafeEqual(input, own)) return round
  throw new RpcFailure(RPC_CODES.invalidParams, 'params.requestState: unknown')
}

/** What the client must answer first; undefined once it has answered everything. */
export function askedFirst(call: SuiteCall): Result | undefined {
  const rounds = Object.hasOwn(ROUNDS, call.name) ? ROUNDS[call.name] : undefined
  if (rounds === undefined) return undefined
  let round = readRound(call.requestState)
  const missing = (): [string, InputRequest][] =>
    Object.entries(rounds[round] ?? {}).filter(([id]) => call.inputResponses?.[id] === undefined)
  if (missing().length === 0) round += 1
  if (round >= rounds.length) return undefined
  const declared = call._meta['io.modelcontextprotocol/clientCapabilities']
  const answerable = missing().filter(
    ([, { method }]) => NEEDED_FOR[method] !== undefined && NEEDED_FOR[method] in declared,
  )
  if (answerable.length > 0)
    return {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(answerable),
      requestState: sign(round),
    }
  const needed = missing().map(([, { method }]) => [NEEDED_FOR[method], {}])
  throw new RpcFailure(RPC_CODES.missingCapability, 'The client cannot answer', {
    requiredCapabilities: Object.fromEntries(needed),
  })
}
