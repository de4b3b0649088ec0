/** `completion/complete`: versions, domains and patients, of records that the caller may see. */
import type { Result } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { type Completion, completeNames, completeVersions } from '../domain/completion.ts'
import type { ChainHead } from '../domain/record-store.ts'
import { isRecordName } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { type CallContext, canSee, visibleAudiences } from './call-context.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'
import { parseParams } from './request-params.ts'

const params = z.object({
  ref: z.discriminatedUnion('type', [
    z.object({ type: z.literal('ref/resource'), uri: z.string() }),
    z.object({ type: z.literal('ref/prompt'), name: z.string() }),
  ]),
  argument: z.object({ name: z.string(), value: z.string() }),
  context: z.object({ arguments: z.record(z.string(), z.string()).optional() }).optional(),
})

type CompleteParams = z.output<typeof params>

/** Chains that one completion looks through. */
const CHAINS_MAX = 5_000
/** Arguments that each prompt takes. */
const PROMPT_ARGUMENTS: ReadonlyMap<string, readonly string[]> = new Map([
  ['brief_carer', ['patient']],
  ['whats_changed', ['patient', 'since']],
])

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
  const request = parseParams(params, raw)
  return { completion: await completionOf(context, request) }
}

async function completionOf(context: CallContext, request: CompleteParams): Promise<Completion> {
  const { ref, argument } = request
  if (ref.type === 'ref/prompt') {
    if (PROMPT_ARGUMENTS.get(ref.name)?.includes(argument.name) !== true)
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
    ...(patient === undefined || patient === '' ? {} : { patient }),
  })
  return heads.filter(({ audience }) => canSee(context, audience))
}
