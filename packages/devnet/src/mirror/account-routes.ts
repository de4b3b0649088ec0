import { toBase32 } from '@tallystick/x402/hedera'
import type { FastifyInstance } from 'fastify'
import { type Hex, hexToBytes, numberToHex } from 'viem'
import { toMirrorKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { entityNumber, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import {
  invalidParameter,
  isVisible,
  type ListRequest,
  type MirrorRequest,
  notFound,
  pageOf,
  readRange,
  visibleNs,
} from './mirror-query.ts'

/** `/api/v1/accounts`, `/api/v1/accounts/{id}` and `/api/v1/balances`. */
export function addAccountRoutes(app: FastifyInstance, ledger: Ledger): void {
  app.get<MirrorRequest>('/api/v1/accounts/:id', async ({ params }) => {
    const entity = await findEntity(ledger, params.id)
    const [shown] = await show(ledger, [entity])
    return { ...shown, transactions: [], links: { next: null } }
  })

  app.get<MirrorRequest>('/api/v1/accounts', async (request) => {
    const { page, links } = pageOfEntities(ledger, request, 'asc')
    return { accounts: await show(ledger, page), links }
  })

  app.get<MirrorRequest>('/api/v1/balances', async (request) => {
    const { page, links } = pageOfEntities(ledger, request, 'desc')
    const shown = await show(ledger, page)
    return {
      timestamp: shown[0]?.balance.timestamp ?? null,
      balances: shown.map(({ account, balance }) => ({
        account,
        balance: balance.balance,
        tokens: [],
      })),
      links,
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
  if (entity === undefined || !isVisible(ledger, entity.createdNs)) throw notFound()
  return entity
}

/** Contracts created by contracts, and addresses paid by contracts, become entities when first requested. */
async function discover(ledger: Ledger, address: Hex): Promise<Entity | undefined> {
  const [code, balance] = (await ledger.anvil.batch([
    ['eth_getCode', [address, 'latest']],
    ['eth_getBalance', [address, 'latest']],
  ])) as [Hex, Hex]
  // A long-zero address is a number, and value does not turn it into an account.
  const isPaid = BigInt(balance) > 0n && longZeroNumber(address) === undefined
  if (code === '0x' && !isPaid) return undefined
  // A concurrent request may have created it meanwhile.
  const entity = ledger.entityAt(address, ledger.clock.nextTimestamp())
  if (code !== '0x') entity.kind = 'contract'
  return entity
}

function pageOfEntities(ledger: Ledger, request: ListRequest, order: 'asc' | 'desc') {
  const name = 'account.id'
  const range = readRange(request.query, name, (text) => {
    const number = entityNumber(text)
    return number === undefined ? undefined : BigInt(number)
  })
  const rows = ledger.accounts
    .all()
    .filter(({ createdNs }) => isVisible(ledger, createdNs))
    .filter(({ number }) => BigInt(number) >= range.from && BigInt(number) <= range.to)
    .toSorted((a, b) => a.number - b.number)
  return pageOf(request, rows, { name, order, keyOf: ({ id }) => id })
}

/** Entities as shown by `/api/v1/accounts`. */
async function show(ledger: Ledger, entities: readonly Entity[]) {
  if (entities.length === 0) return []
  const block = numberToHex(ledger.evm.newestBlock(ledger.faults.mirrorLagMs))
  const answers = (await ledger.anvil.batch(
    entities.flatMap(({ address }) => [
      ['eth_getBalance', [address, block]] as const,
      ['eth_getTransactionCount', [address, block]] as const,
    ]),
  )) as Hex[]
  const timestamp = formatTimestamp(visibleNs(ledger))
  return entities.map((entity, index) => ({
    account: entity.id,
    alias: aliasOf(entity),
    auto_renew_period: entity.kind === 'account' ? 7_776_000 : null,
    balance: { balance: Number(answers[2 * index]), timestamp, tokens: [] },
    created_timestamp: formatTimestamp(entity.createdNs),
    decline_reward: false,
    deleted: false,
    ethereum_nonce: Number(answers[2 * index + 1]),
    evm_address: entity.address,
    expiry_timestamp: null,
    key: toMirrorKey(entity.key),
    max_automatic_token_associations: entity.key === null ? -1 : 0,
    memo: entity.memo,
    pending_reward: 0,
    receiver_sig_required: false,
    staked_account_id: null,
    staked_node_id: null,
    stake_period_start: null,
  }))
}

/** Base32 of the alias, which for accounts with an EVM address is that address; null for those without. */
function aliasOf({ address, kind }: Entity): string | null {
  const hasAlias = kind === 'account' && longZeroNumber(address) === undefined
  return hasAlias ? toBase32(hexToBytes(address)) : null
}
