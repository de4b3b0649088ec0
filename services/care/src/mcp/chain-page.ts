import type { ChainHead } from '../domain/record-store.ts'
import { chainUri, parseRecordUri } from '../wire/record-uri.ts'
import type { Audience } from '../wire/records.ts'
import { type CallContext, canSee } from './call-context.ts'
import { RPC_CODES, RpcFailure } from './json-rpc.ts'

/** A page of chains that the caller may see. */
export type ChainPage = { readonly heads: readonly ChainHead[]; readonly nextCursor?: string }

const encode = (uri: string): string => Buffer.from(uri, 'utf8').toString('base64url')
const decode = (cursor: string): string => Buffer.from(cursor, 'base64url').toString('utf8')

/**
 * The sequence after which a cursor continues. A cursor names the last chain of its page, which its reader has seen, and not
 * its number: the gaps between numbers would tell how many hidden chains lie between. A hidden and an unknown chain in it
 * are the same bad cursor, after the same look-up.
 */
async function sequenceAfter(context: CallContext, cursor: string): Promise<number> {
  const parsed = parseRecordUri(decode(cursor))
  const head = parsed === undefined ? undefined : await context.store.head(parsed.slot)
  if (head === undefined || !canSee(context, head.audience))
    throw new RpcFailure(RPC_CODES.invalidParams, 'params.cursor: unknown cursor')
  return head.sequence
}

/** Reads the page that a cursor asks for, the first without one, in order of creation. */
export async function readChainPage(
  context: CallContext,
  query: {
    readonly audiences: readonly Audience[]
    readonly cursor?: string | undefined
    readonly patient?: string | undefined
  },
): Promise<ChainPage> {
  const { store, limits } = context
  const { audiences, cursor, patient } = query
  const after = cursor === undefined ? undefined : await sequenceAfter(context, cursor)
  const found = await store.heads({
    audiences,
    // One more than the page, to know whether there is another.
    limit: limits.pageChains + 1,
    ...(after === undefined ? {} : { after }),
    ...(patient === undefined ? {} : { patient }),
  })
  const heads = found.slice(0, limits.pageChains)
  const last = heads.at(-1)
  return found.length > heads.length && last !== undefined
    ? { heads, nextCursor: encode(chainUri(last)) }
    : { heads }
}
