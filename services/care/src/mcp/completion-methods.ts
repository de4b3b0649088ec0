/** `completion/complete`: versions, domains and patients of records that the caller may see (C7). */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { completeParams } from '../wire/mcp.ts'
import { type ChainSlot, isRecordName } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { parseParams, RPC_CODES, RpcFailure } from './json-rpc.ts'
import { PROMPTS } from './prompt-methods.ts'
import { type CallContext, canSee, visibleAudiences } from './visible-records.ts'

/** Chains that one completion searches. */
const CHAINS_MAX = 5_000
const NOTHING: Completion = { values: [], total: 0, hasMore: false }

const TEMPLATE = /^(care|care-internal):\/\/\{patient\}\/\{domain\}(?:\/\{version\}(?:\/audio)?)?$/

const unknown = (what: string): RpcFailure =>
  new RpcFailure(RPC_CODES.invalidParams, `params.${what}`)

/** Suggests values for an argument of a template or prompt; -32602 for a reference that does not exist. */
export async function complete(context: CallContext, raw: unknown): Promise<Result> {
  const { ref, argument, context: given } = parseParams(completeParams, raw)
  if (ref.type === 'ref/prompt') {
    const prompt = PROMPTS.find(({ name }) => name === ref.name)
    if (prompt?.arguments.some(({ name }) => name === argument.name) !== true)
      throw unknown('ref: unknown prompt or argument')
    if (argument.name !== 'patient') return { completion: NOTHING }
    const query = { audiences: visibleAudiences(context) }
    return { completion: await completeMember(context, { ...argument, name: 'patient' }, query) }
  }
  const scheme = TEMPLATE.exec(ref.uri)?.[1]
  if (scheme === undefined) throw unknown('ref: unknown resource template')
  const { patient = '', domain = '' } = given?.arguments ?? {}
  const slot = { patient, domain, audience: scheme === 'care' ? 'user' : 'assistant' } as const
  return { completion: await completeTemplate(context, argument, slot) }
}

type Argument<Name> = { readonly name: Name; readonly value: string }

async function completeTemplate(
  context: CallContext,
  { name, value }: Argument<string>,
  slot: ChainSlot,
): Promise<Completion> {
  const { patient, domain, audience } = slot
  if (name === 'version') {
    if (!isRecordName(patient) || !isRecordName(domain)) return NOTHING
    const head = await context.store.head(slot)
    if (head === undefined || !canSee(context, audience)) return NOTHING
    return completeVersions(head.latestVersion, value)
  }
  if (name !== 'domain' && name !== 'patient') throw unknown('argument: unknown argument')
  const within = name === 'patient' || patient === '' ? undefined : patient
  return completeMember(context, { name, value }, { audiences: [audience], patient: within })
}

/** Names of chains; the store is asked whether or not the caller may see them. */
async function completeMember(
  context: CallContext,
  { name, value }: Argument<'patient' | 'domain'>,
  query: { readonly audiences: readonly Audience[]; readonly patient?: string | undefined },
): Promise<Completion> {
  const heads = await context.store.heads({ ...query, limit: CHAINS_MAX })
  const seen = heads.filter(({ audience }) => canSee(context, audience))
  return completeNames(
    seen.map((head) => head[name]),
    value,
  )
}

/** A completion's answer in MCP's shape: at most 100 values, the total, and whether some were left out. */
type Completion = {
  readonly values: string[]
  readonly total: number
  readonly hasMore: boolean
}

/** MCP 2025-11-25 allows no more values in a completion. */
export const COMPLETION_VALUES_MAX = 100

const shaped = (matches: readonly string[]): Completion => ({
  values: matches.slice(0, COMPLETION_VALUES_MAX),
  total: matches.length,
  hasMore: matches.length > COMPLETION_VALUES_MAX,
})

/** The versions of a chain, newest first, that start with the typed text; written `v<n>` only if that starts with `v` (C7). */
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

/** The names that start with the typed text, each once, in alphabetical order. */
export function completeNames(names: Iterable<string>, typed: string): Completion {
  const matches = [...new Set(names)].filter((name) => name.startsWith(typed))
  return shaped(matches.toSorted())
}
