/** `completion/complete`: versions, domains and patients of records that the caller may see (C7). */
import type {
  CompleteRequestParams,
  CompleteResult,
  Result,
} from '@modelcontextprotocol/sdk/types.js'
import { RPC_CODES, RpcFailure } from '@tallystick/service-kit/mcp'
import type { NamesQuery } from '../../domain/record-store.ts'
import { mayRead, reachWithin, readReach } from '../../domain/scopes.ts'
import { type ChainSlot, isRecordName, normalName } from '../../wire/record-uri.ts'
import type { CallContext } from '../records/visible-records.ts'
import { PROMPTS } from './prompt-methods.ts'

type Completion = CompleteResult['completion']

const NOTHING: Completion = { values: [], total: 0, hasMore: false }

const TEMPLATE = /^(care|care-internal):\/\/\{patient\}\/\{domain\}(?:\/\{version\}(?:\/audio)?)?$/

const unknown = (what: string): RpcFailure =>
  new RpcFailure(RPC_CODES.invalidParams, `params.${what}`)

/** Suggests values for an argument of a template or prompt; -32602 for a reference that does not exist. */
export async function complete(
  context: CallContext,
  { ref, argument, context: argumentsSoFar }: CompleteRequestParams,
): Promise<Result> {
  if (ref.type === 'ref/prompt') {
    const prompt = PROMPTS.find(({ name }) => name === ref.name)
    if (prompt?.arguments.some(({ name }) => name === argument.name) !== true)
      throw unknown('ref: unknown prompt or argument')
    if (argument.name !== 'patient') return { completion: NOTHING }
    // A brief holds only what may be spoken.
    const reach = readReach(context.principal.scopes).filter(
      ({ audience }) => ref.name !== 'brief_carer' || audience === 'user',
    )
    const query = { nameKind: 'patient' as const, prefix: normalName(argument.value), reach }
    return { completion: await completeName(context, query) }
  }
  const scheme = TEMPLATE.exec(ref.uri)?.[1]
  if (scheme === undefined) throw unknown('ref: unknown resource template')
  const { patient = '', domain = '' } = argumentsSoFar?.arguments ?? {}
  const names = { patient: normalName(patient), domain: normalName(domain) }
  const slot = { ...names, audience: scheme === 'care' ? 'user' : 'assistant' } as const
  return { completion: await completeTemplate(context, argument, slot) }
}

async function completeTemplate(
  context: CallContext,
  { name, value }: { readonly name: string; readonly value: string },
  slot: ChainSlot,
): Promise<Completion> {
  const { patient, domain, audience } = slot
  if (name === 'version') {
    const isNamed = isRecordName(patient) && isRecordName(domain)
    const head =
      isNamed && mayRead(context.principal.scopes, slot)
        ? await context.store.head(slot)
        : undefined
    return head === undefined ? NOTHING : completeVersions(head.latestVersion, value)
  }
  if (name !== 'domain' && name !== 'patient') throw unknown('argument: unknown argument')
  const seen = readReach(context.principal.scopes).filter((part) => part.audience === audience)
  const within = name === 'patient' || patient === '' ? undefined : patient
  return completeName(context, {
    nameKind: name,
    prefix: normalName(value),
    reach: reachWithin(seen, within),
  })
}

/**
 * Names of chains that start with the typed text. The total is given only if all of them fit: counting the rest would take
 * longer the more the store holds.
 */
async function completeName(
  context: CallContext,
  query: Omit<NamesQuery, 'limit'>,
): Promise<Completion> {
  const { prefix, reach } = query
  if (reach.length === 0 || (prefix !== '' && !isRecordName(prefix))) return NOTHING
  const found = await context.store.names({ ...query, limit: COMPLETION_VALUES_MAX + 1 })
  const values = found.slice(0, COMPLETION_VALUES_MAX)
  return values.length === found.length
    ? { values, total: values.length, hasMore: false }
    : { values, hasMore: true }
}

/** MCP 2025-11-25 allows no more values in a completion. */
export const COMPLETION_VALUES_MAX = 100

/** The versions of a chain, newest first, that start with the typed text; written `v<n>` only if that starts with `v` (C7). */
export function completeVersions(latestVersion: number, typed: string): Completion {
  const prefix = typed.startsWith('v') ? 'v' : ''
  const digits = typed.slice(prefix.length)
  const values: string[] = []
  let total = 0
  for (const [least, most] of numberRanges(digits, latestVersion)) {
    total += most - least + 1
    const fitting = Math.max(least, most - (COMPLETION_VALUES_MAX - values.length) + 1)
    for (let version = most; version >= fitting; version -= 1) values.push(`${prefix}${version}`)
  }
  return { values, total, hasMore: total > values.length }
}

/** The numbers up to `latest` that begin with some digits, as ranges, the highest first: 1 gives 100–199, 10–19 and 1. */
function numberRanges(digits: string, latest: number): readonly (readonly [number, number])[] {
  if (digits === '') return latest < 1 ? [] : [[1, latest]]
  if (!/^[1-9]\d{0,14}$/.test(digits)) return []
  const ranges: (readonly [number, number])[] = []
  const first = Number(digits)
  for (let width = 1; first * width <= latest; width *= 10)
    ranges.unshift([first * width, Math.min(first * width + width - 1, latest)])
  return ranges
}
