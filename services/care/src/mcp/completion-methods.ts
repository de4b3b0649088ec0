/** `completion/complete`: versions, domains and patients, of records that the caller may see (C7). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import type { ChainHead } from '../domain/record-store.ts'
import { type CompleteParams, completeParams } from '../wire/mcp.ts'
import { isRecordName } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { parseParams, RPC_CODES, RpcFailure } from './json-rpc.ts'
import { PROMPTS } from './prompt-methods.ts'
import { type CallContext, canSee, visibleAudiences } from './visible-records.ts'

/** Chains that one completion looks through. */
const CHAINS_MAX = 5_000
const NOTHING: Completion = { values: [], total: 0, hasMore: false }

const TEMPLATE = /^(care|care-internal):\/\/\{patient\}\/\{domain\}(?:\/\{version\}(?:\/audio)?)?$/

/** Which audience's template a reference names; undefined for any other text. */
function templateAudience(uri: string): Audience | undefined {
  const scheme = TEMPLATE.exec(uri)?.[1]
  if (scheme === undefined) return undefined
  return scheme === 'care' ? 'user' : 'assistant'
}

/** Suggests values for an argument of a template or a prompt; -32602 for a reference that does not exist. */
export async function complete(context: CallContext, raw: unknown): Promise<Result> {
  const request = parseParams(completeParams, raw)
  return { completion: await completionOf(context, request) }
}

async function completionOf(context: CallContext, request: CompleteParams): Promise<Completion> {
  const { ref, argument } = request
  if (ref.type === 'ref/prompt') {
    const prompt = PROMPTS.find(({ name }) => name === ref.name)
    if (prompt?.arguments.some(({ name }) => name === argument.name) !== true)
      throw new RpcFailure(RPC_CODES.invalidParams, 'params.ref: unknown prompt or argument')
    if (argument.name !== 'patient') return NOTHING
    const chains = await visibleChains(context, visibleAudiences(context))
    return completeNames(
      chains.map(({ patient }) => patient),
      argument.value,
    )
  }
  const audience = templateAudience(ref.uri)
  if (audience === undefined)
    throw new RpcFailure(RPC_CODES.invalidParams, 'params.ref: unknown resource template')
  return completeTemplate(context, request, audience)
}

async function completeTemplate(
  context: CallContext,
  { argument, context: given }: CompleteParams,
  audience: Audience,
): Promise<Completion> {
  const { patient = '', domain = '' } = given?.arguments ?? {}
  switch (argument.name) {
    case 'version': {
      if (!isRecordName(patient) || !isRecordName(domain)) return NOTHING
      const head = await context.store.head({ patient, domain, audience })
      if (head === undefined || !canSee(context, audience)) return NOTHING
      return completeVersions(head.latestVersion, argument.value)
    }
    case 'domain': {
      const chains = await visibleChains(context, [audience], patient)
      return completeNames(
        chains.map((chain) => chain.domain),
        argument.value,
      )
    }
    case 'patient': {
      const chains = await visibleChains(context, [audience])
      return completeNames(
        chains.map((chain) => chain.patient),
        argument.value,
      )
    }
    default:
      throw new RpcFailure(RPC_CODES.invalidParams, 'params.argument: unknown argument')
  }
}

/** Chains of these audiences, the store asked whether or not the caller may see them. */
async function visibleChains(
  context: CallContext,
  audiences: readonly Audience[],
  patient?: string,
): Promise<readonly ChainHead[]> {
  const heads = await context.store.heads({
    audiences,
    limit: CHAINS_MAX,
    patient: patient === '' ? undefined : patient,
  })
  return heads.filter(({ audience }) => canSee(context, audience))
}

/** A completion's answer as MCP shapes it: at most 100 values, how many there are, whether some were left out. */
export type Completion = {
  readonly values: string[]
  readonly total: number
  readonly hasMore: boolean
}

/** MCP 2025-11-25: a completion holds no more values. */
export const COMPLETION_VALUES_MAX = 100

const shaped = (matches: readonly string[]): Completion => ({
  values: matches.slice(0, COMPLETION_VALUES_MAX),
  total: matches.length,
  hasMore: matches.length > COMPLETION_VALUES_MAX,
})

/** The versions of a chain, newest first, that begin with what was typed; written `v<n>` only where that begins with `v` (C7). */
export function completeVersions(latestVersion: number, typed: string): Completion {
  const prefix = typed.startsWith('v') ? 'v' : ''
  const digits = typed.slice(prefix.length)
  if (!/^\d*$/.test(digits)) return shaped([])
  const values: string[] = []
  let total = 0
  for (let version = latestVersion; version >= 1; version -= 1) {
    if (!String(version).startsWith(digits)) continue
    total += 1
    if (values.length < COMPLETION_VALUES_MAX) values.push(`${prefix}${version}`)
  }
  return { values, total, hasMore: total > values.length }
}

/** The names that begin with what was typed, each once, in alphabetical order. */
export function completeNames(names: Iterable<string>, typed: string): Completion {
  const matches = [...new Set(names)].filter((name) => name.startsWith(typed))
  return shaped(matches.toSorted())
}
