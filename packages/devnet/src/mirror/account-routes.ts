import type { FastifyInstance } from 'fastify'
import type { Hex } from 'viem'
import type { Entity } from '../ledger/account-registry.ts'
import { entityNumber, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import {
  invalidParameter,
  type MirrorQuery,
  nextLink,
  notFound,
  readLimit,
  readOrder,
  readRange,
} from './mirror-query.ts'
import { isVisible, toMirrorAccount, visibleNs } from './mirror-view.ts'

/** `/api/v1/accounts`, `/api/v1/accounts/{id}` and `/api/v1/balances`. */
export function addAccountRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<{ Params: { id: string } }>('/api/v1/accounts/:id', async ({ params }) => {
    const entity = await findEntity(ledger, params.id)
    const [shown] = await show(ledger, [entity])
    return { ...shown, transactions: [], links: { next: null } }
  })

  app.get<{ Querystring: MirrorQuery }>('/api/v1/accounts', async ({ query }) => {
    const { page, next } = pageOfEntities(ledger, { query, path: '/api/v1/accounts', order: 'asc' })
    return { accounts: await show(ledger, page), links: { next } }
  })

  app.get<{ Querystring: MirrorQuery }>('/api/v1/balances', async ({ query }) => {
    const { page, next } = pageOfEntities(ledger, {
      query,
      path: '/api/v1/balances',
      order: 'desc',
    })
    const shown = await show(ledger, page)
    return {
      timestamp: (shown[0]?.['balance'] as { timestamp: string } | undefined)?.timestamp ?? null,
      balances: shown.map(({ account, balance }) => ({
        account,
        balance: (balance as { balance: number }).balance,
        tokens: [],
      })),
      links: { next },
    }
  })
}

/** The entity that a path names by id, number or EVM address. @throws MirrorRefusal */
export async function findEntity(ledger: Ledger, text: string): Promise<Entity> {
  const number = entityNumber(text)
  const address = /^(?:0x)?([0-9a-fA-F]{40})$/.exec(text)?.[1]
  if (number === undefined && address === undefined) throw invalidParameter('idOrAliasOrEvmAddress')
  const entity =
    number === undefined
      ? (ledger.accounts.byAddress(`0x${address}`) ?? (await discover(ledger, `0x${address}`)))
      : ledger.accounts.byNumber(number)
  if (entity === undefined || !isVisible(ledger, Number(entity.createdNs / 1_000_000n))) {
    throw notFound()
  }
  return entity
}

/** Contracts that contracts made, and addresses that contracts paid, become entities when first asked for. */
async function discover(ledger: Ledger, address: Hex): Promise<Entity | undefined> {
  const [code, balance] = (await ledger.anvil.batch([
    ['eth_getCode', [address, 'latest']],
    ['eth_getBalance', [address, 'latest']],
  ])) as [Hex, Hex]
  // A long-zero address is a number, and value makes no account of it.
  const isPaid = BigInt(balance) > 0n && longZeroNumber(address) === undefined
  if (code === '0x' && !isPaid) return undefined
  // Whoever else asked at the same time has made it meanwhile.
  const entity = ledger.entityAt(address, ledger.clock.nextTimestamp())
  if (code !== '0x') entity.kind = 'contract'
  return entity
}

function pageOfEntities(
  ledger: Ledger,
  options: { query: MirrorQuery; path: string; order: 'asc' | 'desc' },
): { page: Entity[]; next: string | null } {
  const { query, path } = options
  const limit = readLimit(query)
  const order = readOrder(query, options.order)
  const range = readRange({ query, name: 'account.id', parse: parseNumber })
  const sign = order === 'asc' ? 1 : -1
  const page = ledger.accounts
    .all()
    .filter(({ createdNs }) => isVisible(ledger, Number(createdNs / 1_000_000n)))
    .filter(({ number }) => BigInt(number) >= range.from && BigInt(number) <= range.to)
    .toSorted((a, b) => sign * (a.number - b.number))
    .slice(0, limit)
  const last = page.length < limit ? undefined : page.at(-1)?.id
  return { page, next: nextLink({ path, query, name: 'account.id', order, last }) }
}

function parseNumber(text: string): bigint | undefined {
  const number = entityNumber(text)
  return number === undefined ? undefined : BigInt(number)
}

async function show(
  ledger: Ledger,
  entities: readonly Entity[],
): Promise<{ [name: string]: unknown }[]> {
  if (entities.length === 0) return []
  const atMs = ledger.clock.unixMs() - ledger.faults.mirrorLagMs
  const block = `0x${ledger.evm.blockAt(atMs).toString(16)}`
  const answers = (await ledger.anvil.batch(
    entities.flatMap(({ address }) => [
      ['eth_getBalance', [address, block]] as const,
      ['eth_getTransactionCount', [address, block]] as const,
    ]),
  )) as Hex[]
  return entities.map((entity, index) =>
    toMirrorAccount({
      entity,
      balanceTinybar: BigInt(answers[2 * index] ?? '0x0'),
      nonce: Number(answers[2 * index + 1] ?? 0),
      nowNs: visibleNs(ledger),
    }),
  )
}
