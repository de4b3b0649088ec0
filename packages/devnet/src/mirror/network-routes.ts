import type { FastifyInstance } from 'fastify'
import { entityId } from '../ledger/entity-id.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { NODE_ACCOUNT_NUMBERS, RATE_SECONDS } from '../ledger/network.ts'
import { formatTimestamp } from '../ledger/records.ts'
import { visibleNs } from './mirror-query.ts'

/** Kinds of transaction for which the network states a gas price. */
const GAS_KINDS = ['ContractCall', 'ContractCreate', 'EthereumTransaction']

const TOTAL_SUPPLY_TINYBAR = '5000000000000000000'

/** `/api/v1/network/exchangerate`, `…/fees`, `…/nodes` and `…/supply`. */
export function addNetworkRoutes(
  app: FastifyInstance,
  ledger: Ledger,
  consensus: { host: string; port: number },
): void {
  const timestamp = (): string => formatTimestamp(visibleNs(ledger))

  app.get('/api/v1/network/exchangerate', async () => {
    const { hbar, cents } = ledger.settings.exchangeRate
    const hourEnd = (Math.floor(ledger.clock.nowSeconds() / RATE_SECONDS) + 1) * RATE_SECONDS
    const rate = { cent_equivalent: cents, expiration_time: hourEnd, hbar_equivalent: hbar }
    return {
      current_rate: rate,
      next_rate: { ...rate, expiration_time: hourEnd + RATE_SECONDS },
      timestamp: timestamp(),
    }
  })

  app.get('/api/v1/network/fees', async () => ({
    fees: GAS_KINDS.map((transaction_type) => ({
      gas: Number(ledger.settings.gasPriceTinybar),
      transaction_type,
    })),
    timestamp: timestamp(),
  }))

  app.get('/api/v1/network/supply', async () => ({
    released_supply: TOTAL_SUPPLY_TINYBAR,
    timestamp: timestamp(),
    total_supply: TOTAL_SUPPLY_TINYBAR,
  }))

  app.get('/api/v1/network/nodes', async () => {
    const { host, port } = consensus
    const endpoint = { domain_name: '', ip_address_v4: host, port }
    const from = formatTimestamp(ledger.accounts.byNumber(3)?.createdNs ?? 0n)
    return {
      nodes: NODE_ACCOUNT_NUMBERS.map((number) => ({
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
        service_endpoints: [endpoint],
        stake: 0,
        stake_not_rewarded: 0,
        stake_rewarded: 0,
        staking_period: null,
        timestamp: { from, to: null },
      })),
      links: { next: null },
    }
  })
}
