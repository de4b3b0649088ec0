import type { FastifyInstance } from 'fastify'
import { toMirrorKey } from '../ledger/account-key.ts'
import { readTokensAt } from '../ledger/complete-transfers.ts'
import { entityId, entityNumber, longZeroNumber } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { formatTimestamp } from '../ledger/records.ts'
import type { CustomFee, Token } from '../ledger/token.ts'
import { findEntity, visibleEntities } from './account-routes.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import {
  cutPage,
  invalidParameter,
  isVisible,
  isWithin,
  newestNs,
  notFound,
} from './mirror-query.ts'

const { amounts, ids, paging } = PARAMETERS

/** `/api/v1/tokens`, `…/{id}`, `…/{id}/balances` and `/api/v1/accounts/{id}/tokens`. */
export function addTokenRoutes(app: FastifyInstance, ledger: Ledger): void {
  const listed = { ...paging, 'account.id': ids, 'token.id': ids }
  addMirrorRoute(app, { path: 'tokens', parameters: listed }, ({ query, list }) => {
    const holders = visibleEntities(ledger, query['account.id'])
    const balanceAt = readTokensAt(ledger, newestNs(ledger))
    const rows = visibleTokens(ledger).filter(
      (token) =>
        isWithin(query['token.id'], BigInt(token.number)) &&
        (list.query['account.id'] === undefined ||
          holders.some((holder) => balanceAt(token, holder) !== undefined)),
    )
    const { page, links } = cutPage(list, rows, BY_TOKEN)
    const tokens = page.map((token) => ({
      admin_key: toMirrorKey(token.keys.admin),
      decimals: token.decimals,
      metadata: Buffer.from(token.metadata).toString('base64'),
      name: token.name,
      symbol: token.symbol,
      token_id: token.id,
      type: 'FUNGIBLE_COMMON',
    }))
    return { tokens, links }
  })

  addMirrorRoute(app, { path: 'tokens/:id', parameters: {} }, ({ params }) =>
    toMirrorToken(findToken(ledger, params.id)),
  )

  const ofHolders = { ...paging, 'account.balance': amounts, 'account.id': ids }
  const holders = { path: 'tokens/:id/balances', parameters: ofHolders }
  addMirrorRoute(app, holders, ({ params, query, list }) => {
    const token = findToken(ledger, params.id)
    const balanceAt = readTokensAt(ledger, newestNs(ledger))
    const rows = visibleEntities(ledger, query['account.id']).flatMap((holder) => {
      const balance = balanceAt(token, holder)
      const isWanted = balance !== undefined && isWithin(query['account.balance'], balance)
      return isWanted
        ? [{ account: holder.id, balance: Number(balance), decimals: token.decimals }]
        : []
    })
    const { page, links } = cutPage(list, rows, {
      name: 'account.id',
      order: 'desc',
      pageKey: ({ account }) => account,
    })
    return { timestamp: formatTimestamp(ledger.clock.nextTimestamp()), balances: page, links }
  })

  const own = { path: 'accounts/:id/tokens', parameters: { ...paging, 'token.id': ids } }
  addMirrorRoute(app, own, async ({ params, query, list }) => {
    const account = await findEntity(ledger, params.id)
    const balanceAt = readTokensAt(ledger, newestNs(ledger))
    const rows = visibleTokens(ledger).filter(
      (token) =>
        isWithin(query['token.id'], BigInt(token.number)) &&
        balanceAt(token, account) !== undefined,
    )
    const { page, links } = cutPage(list, rows, BY_TOKEN)
    const tokens = page.map((token) =>
      toMirrorRelation(token, {
        ...ledger.tokens.relation(token, account),
        balance: balanceAt(token, account),
      }),
    )
    return { tokens, links }
  })
}

const BY_TOKEN = {
  name: 'token.id',
  order: 'asc',
  pageKey: ({ id }: Token): string => id,
} as const

const visibleTokens = (ledger: Ledger): Token[] =>
  ledger.tokens.all().filter(({ createdNs }) => isVisible(ledger, createdNs))

/** The token that a path names by id, number or long-zero address. @throws MirrorRefusal */
function findToken(ledger: Ledger, text: string): Token {
  const number = entityNumber(text) ?? longZeroNumber(text)
  if (number === undefined) throw invalidParameter('tokenId')
  const token = ledger.tokens.byNumber(number)
  if (token === undefined || !isVisible(ledger, token.createdNs)) throw notFound()
  return token
}

function toMirrorRelation(
  token: Token,
  relation: {
    balance: bigint | undefined
    createdNs?: bigint
    isAutomatic?: boolean
    isFrozen?: boolean
    isGranted?: boolean
  },
) {
  const { balance = 0n, createdNs = 0n, isAutomatic, isFrozen, isGranted } = relation
  const { freeze, kyc } = token.keys
  return {
    automatic_association: isAutomatic === true,
    balance: Number(balance),
    created_timestamp: formatTimestamp(createdNs),
    decimals: token.decimals,
    freeze_status: freeze === null ? 'NOT_APPLICABLE' : isFrozen ? 'FROZEN' : 'UNFROZEN',
    kyc_status: kyc === null ? 'NOT_APPLICABLE' : isGranted ? 'GRANTED' : 'REVOKED',
    token_id: token.id,
  }
}

/** What a fee's two forms have in common. */
const feeShared = ({ collector, isEveryCollectorExempt }: CustomFee) => ({
  all_collectors_are_exempt: isEveryCollectorExempt,
  collector_account_id: collector.id,
})

function toMirrorFees({ fees, id }: Token) {
  const fixed = fees.flatMap((fee) => (fee.kind === 'fixed' ? fee : []))
  const fractional = fees.flatMap((fee) => (fee.kind === 'fractional' ? fee : []))
  return {
    fixed_fees: fixed.map((fee) => ({
      ...feeShared(fee),
      amount: Number(fee.amount),
      denominating_token_id: fee.token === undefined ? null : entityId(fee.token),
    })),
    fractional_fees: fractional.map((fee) => ({
      ...feeShared(fee),
      amount: { numerator: Number(fee.numerator), denominator: Number(fee.denominator) },
      denominating_token_id: id,
      maximum: fee.max === 0n ? null : Number(fee.max),
      minimum: Number(fee.min),
      net_of_transfers: fee.isNetOfTransfers,
    })),
  }
}

function toMirrorToken(token: Token): { [name: string]: unknown } {
  const created = formatTimestamp(token.createdNs)
  const { admin, feeSchedule, freeze, kyc, pause, supply, wipe } = token.keys
  return {
    admin_key: toMirrorKey(admin),
    freeze_key: toMirrorKey(freeze),
    pause_key: toMirrorKey(pause),
    supply_key: toMirrorKey(supply),
    wipe_key: toMirrorKey(wipe),
    auto_renew_account: token.renewal.account?.id ?? null,
    auto_renew_period: token.renewal.periodSeconds,
    created_timestamp: created,
    custom_fees: { created_timestamp: created, ...toMirrorFees(token) },
    decimals: String(token.decimals),
    deleted: token.isDeleted,
    expiry_timestamp: null,
    fee_schedule_key: toMirrorKey(feeSchedule),
    freeze_default: token.startsFrozen,
    initial_supply: token.totalSupply.toString(),
    kyc_key: toMirrorKey(kyc),
    max_supply: token.maxSupply.toString(),
    memo: token.memo,
    metadata: Buffer.from(token.metadata).toString('base64'),
    metadata_key: toMirrorKey(token.keys.metadata),
    modified_timestamp: created,
    name: token.name,
    pause_status: pause === null ? 'NOT_APPLICABLE' : token.isPaused ? 'PAUSED' : 'UNPAUSED',
    supply_type: token.maxSupply === 0n ? 'INFINITE' : 'FINITE',
    symbol: token.symbol,
    token_id: token.id,
    total_supply: token.totalSupply.toString(),
    treasury_account_id: token.treasury.id,
    type: 'FUNGIBLE_COMMON',
  }
}
