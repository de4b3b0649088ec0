import type { FastifyInstance } from 'fastify'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { NODE_ACCOUNT_NUMBERS, RATE_SECONDS } from '../ledger/network.ts'
import { formatTimestamp, nsToSeconds } from '../ledger/records.ts'
import { addMirrorRoute, PARAMETERS } from './mirror-parameters.ts'
import { cutPage, isWithin, type Range, visibleNs } from './mirror-query.ts'

const { paging, times, wholes } = PARAMETERS

/** Kinds of transaction for which the network states a gas price. */
const GAS_KINDS = ['ContractCall', 'ContractCreate', 'EthereumTransaction']

const TOTAL_SUPPLY_TINYBAR = '5000000000000000000'

/** `/api/v1/network/exchangerate`, `…/fees`, `…/nodes` and `…/supply`. */
export function addNetworkRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  consensus: { host: string; port: number },
): void {
  /** The moment that a request asks about, and its prices. */
  const priced = ({ timestamp: range }: { timestamp: Range }) => {
    const isPast = range.to < visibleNs(ledger)
    const atNs = isPast ? range.to : visibleNs(ledger)
    return { atNs, prices: isPast ? ledger.pricesAt(atNs) : ledger.settings }
  }

  const rates = { path: 'network/exchangerate', parameters: { timestamp: times } }
  addMirrorRoute(app, rates, ({ query }) => {
    const { atNs, prices } = priced(query)
    const { hbar, cents } = prices.exchangeRate
    const hourEnd = (Math.floor(nsToSeconds(atNs) / RATE_SECONDS) + 1) * RATE_SECONDS
    const rate = { cent_equivalent: cents, expiration_time: hourEnd, hbar_equivalent: hbar }
    return {
      current_rate: rate,
      next_rate: { ...rate, expiration_time: hourEnd + RATE_SECONDS },
      timestamp: formatTimestamp(atNs),
    }
  })

  const gas = { path: 'network/fees', parameters: { order: paging.order, timestamp: times } }
  addMirrorRoute(app, gas, ({ query }) => {
    const { atNs, prices } = priced(query)
    const kinds = query.order === 'desc' ? GAS_KINDS.toReversed() : GAS_KINDS
    return {
      fees: kinds.map((transaction_type) => ({
        gas: Number(prices.gasPriceTinybar),
        transaction_type,
      })),
      timestamp: formatTimestamp(atNs),
    }
  })

  const supply = { path: 'network/supply', parameters: { timestamp: times } }
  addMirrorRoute(app, supply, ({ query }) => ({
    released_supply: TOTAL_SUPPLY_TINYBAR,
    timestamp: formatTimestamp(priced(query).atNs),
    total_supply: TOTAL_SUPPLY_TINYBAR,
  }))

  const nodes = { path: 'network/nodes', parameters: { ...paging, 'node.id': wholes } }
  addMirrorRoute(app, nodes, ({ query, list }) => {
    const rows = NODE_ACCOUNT_NUMBERS.filter((number) =>
      isWithin(query['node.id'], BigInt(number - 3)),
    )
    const { page, links } = cutPage(list, rows, {
      name: 'node.id',
      order: 'asc',
      pageKey: (number) => String(number - 3),
    })
    return { nodes: page.map((number) => toMirrorNode(ledger, { ...consensus, number })), links }
  })
}

function toMirrorNode(
  ledger: Ledger,
  { host, port, number }: { host: string; port: number; number: number },
): { [name: string]: unknown } {
  const from = formatTimestamp(ledger.accounts.byNumber(number)?.createdNs ?? 0n)
  return {
    admin_key: null,
    decline_reward: false,
    description: 'local node',
    file_id: '0.0.102',
    max_stake: 0,
    memo: entityId(number),
    min_stake: 0,
    node_account_id: entityId(number),
    node_cert_hash: '0x',
    node_id: number - 3,
    public_key: '0x',
    reward_rate_start: 0,
    service_endpoints: [{ domain_name: '', ip_address_v4: host, port }],
    stake: 0,
    stake_not_rewarded: 0,
    stake_rewarded: 0,
    staking_period: null,
    timestamp: { from, to: null },
  }
}
