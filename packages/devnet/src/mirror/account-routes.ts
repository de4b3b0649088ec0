import { toBase32 } from '@tallystick/x402/hedera'
import type { FastifyInstance } from 'fastify'
import { type Hex, numberToHex } from 'viem'
import { type AccountKey, toMirrorKey } from '../ledger/account-key.ts'
import type { Entity } from '../ledger/account-registry.ts'
import { balancesAt, readTokensAt } from '../ledger/complete-transfers.ts'
import { entityNumber, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  cutPage,
  EVERYTHING,
  invalidParameter,
  isVisible,
  isWithin,
  type ListRequest,
  newestNs,
  notFound,
  type Range,
  visibleNs,
} from './mirror-query.ts'
import { pageOfTransactions } from './transaction-routes.ts'

const { amounts, flag, ids, paging, publicKey, times, transactionType } = PARAMETERS

/** `/api/v1/accounts`, `/api/v1/accounts/{id}` and `/api/v1/balances`. */
export function addAccountRoutes(app: FastifyInstance, ledger: Ledger): void {
  const ofAccount = {
    ...paging,
    timestamp: times,
    transactions: flag,
    transactiontype: transactionType,
  }
  addMirrorRoute(app, { path: 'accounts/:id', parameters: ofAccount }, async (request) => {
    const { query, list } = request
    const entity = await findEntity(ledger, request.params.id)
    if (entity.createdNs > query.timestamp.to) throw notFound()
    const [shown] = await show(ledger, [entity], query.timestamp.to)
    if (query.transactions === false) return { ...shown, transactions: [], links: { next: null } }
    const number = BigInt(entity.number)
    const accounts = { from: number, to: number }
    const filter = { accounts, name: query.transactiontype, range: query.timestamp }
    return { ...shown, ...(await pageOfTransactions(ledger, filter, list)) }
  })

  const many = {
    ...paging,
    'account.balance': amounts,
    'account.id': ids,
    'account.publickey': publicKey,
  }
  const listed = { path: 'accounts', parameters: { ...many, balance: flag } }
  addMirrorRoute(app, listed, async ({ query, list }) => {
    const { page, links } = await pageOfAccounts(ledger, query, { ...list, byDefault: 'asc' })
    const accounts = await show(ledger, page)
    if (query.balance !== false) return { accounts, links }
    return { accounts: accounts.map((account) => ({ ...account, balance: null })), links }
  })

  const balances = { path: 'balances', parameters: { ...many, timestamp: times } }
  addMirrorRoute(app, balances, async ({ query, list }) => {
    const newestFirst = { ...list, byDefault: 'desc' } as const
    const { page, links } = await pageOfAccounts(ledger, query, newestFirst)
    const shown = await show(ledger, page, query.timestamp.to)
    return {
      timestamp: shown[0]?.balance.timestamp ?? null,
      balances: shown.map(({ account, balance }) => ({
        account,
        balance: balance.balance,
        tokens: balance.tokens,
      })),
      links,
    }
  })
}

/** The entity that a path names by id, number, alias or EVM address. @throws MirrorRefusal */
export async function findEntity(ledger: Ledger, text: string): Promise<Entity> {
  const number = entityNumber(text)
  const address = /^(?:0x|0\.0\.)?([0-9a-fA-F]{40})$/.exec(text)?.[1]
  const alias = /^(?:0\.0\.)?([A-Z2-7]{32,})$/.exec(text)?.[1]
  if (number === undefined && address === undefined && alias === undefined) {
    throw invalidParameter('idOrAliasOrEvmAddress')
  }
  const entity =
    number !== undefined
      ? ledger.accounts.byNumber(number)
      : address !== undefined
        ? (ledger.accounts.byAddress(`0x${address}`) ?? (await discover(ledger, `0x${address}`)))
        : ledger.accounts.all().find((candidate) => showAlias(candidate) === alias)
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
  if (ledger.tokens.byAddress(address) !== undefined || (code === '0x' && !isPaid)) return undefined
  // A concurrent request may have created it meanwhile.
  const entity = ledger.entityAt(address, ledger.clock.nextTimestamp())
  if (code !== '0x') entity.kind = 'contract'
  return entity
}

type AccountFilter = {
  'account.id': Range
  'account.balance': Range
  'account.publickey'?: string | undefined
  timestamp?: Range
}

async function pageOfAccounts(
  ledger: Ledger,
  filter: AccountFilter,
  list: ListRequest & { byDefault: 'asc' | 'desc' },
) {
  const wantedKey = filter['account.publickey']
  const wanted = filter['account.balance']
  const candidates = visibleEntities(ledger, filter['account.id'])
    .filter(({ createdNs }) => filter.timestamp === undefined || createdNs <= filter.timestamp.to)
    .filter(({ key }) => wantedKey === undefined || singleKey(key) === wantedKey)
  const shown = wanted === EVERYTHING ? [] : await show(ledger, candidates, filter.timestamp?.to)
  const rows = candidates.filter(
    (_row, at) =>
      wanted === EVERYTHING || isWithin(wanted, BigInt(shown[at]?.balance.balance ?? 0)),
  )
  return cutPage(list, rows, { name: 'account.id', order: list.byDefault, pageKey: ({ id }) => id })
}

/** The visible entities whose numbers lie in a range, by number. */
export function visibleEntities(ledger: Ledger, numbers: Range): Entity[] {
  return ledger.accounts
    .all()
    .filter(({ createdNs }) => isVisible(ledger, createdNs))
    .filter(({ number }) => isWithin(numbers, BigInt(number)))
    .toSorted((a, b) => a.number - b.number)
}

function singleKey(key: AccountKey | null): string | undefined {
  return key !== null && 'publicKey' in key ? key.publicKey : undefined
}

/** Entities as shown by `/api/v1/accounts`, with what they held at `atNs`. */
async function show(ledger: Ledger, entities: readonly Entity[], atNs = visibleNs(ledger)) {
  if (entities.length === 0) return []
  const isPast = atNs < visibleNs(ledger)
  const block = numberToHex(ledger.evm.newestBlock(ledger.faults.mirrorLagMs))
  const answers = (await ledger.anvil.batch(
    entities.flatMap(({ address }) => [
      ['eth_getBalance', [address, block]] as const,
      ['eth_getTransactionCount', [address, block]] as const,
    ]),
  )) as Hex[]
  const balanceAt = readTokensAt(ledger, isPast ? atNs : newestNs(ledger))
  const then = isPast ? await balancesAt(ledger, entities, atNs) : []
  const timestamp = formatTimestamp(isPast ? atNs : visibleNs(ledger))
  return entities.map((entity, index) => ({
    account: entity.id,
    alias: showAlias(entity),
    auto_renew_period: entity.kind === 'account' ? 7_776_000 : null,
    balance: {
      balance: Number(then[index] ?? answers[2 * index]),
      timestamp,
      tokens: ledger.tokens.byAccount(entity).flatMap(({ token }) => {
        const balance = balanceAt(token, entity)
        return balance === undefined ? [] : [{ balance: Number(balance), token_id: token.id }]
      }),
    },
    created_timestamp: formatTimestamp(entity.createdNs),
    decline_reward: false,
    deleted: entity.isDeleted,
    ethereum_nonce: Number(answers[2 * index + 1]),
    evm_address: entity.address,
    expiry_timestamp: null,
    key: toMirrorKey(entity.key),
    max_automatic_token_associations: entity.maxAutoAssociations,
    memo: entity.memo,
    pending_reward: 0,
    receiver_sig_required: entity.isReceiverSigRequired,
    staked_account_id: null,
    staked_node_id: null,
    stake_period_start: null,
  }))
}

function showAlias({ alias, kind }: Entity): string | null {
  return kind === 'contract' || alias === null ? null : toBase32(alias)
}
