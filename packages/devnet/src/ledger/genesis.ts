import type { DevnetAccount } from '../devnet.ts'
import { createAccount } from './create-account.ts'
import { installExchangeRate } from './exchange-rate.ts'
import type { Ledger } from './ledger.ts'
import { FEE_COLLECTOR, NODE_ACCOUNT_NUMBERS, RELAY_ACCOUNT, TREASURY } from './network.ts'
import { installHaltingCode } from './run-evm-transaction.ts'

const TINYBAR_PER_HBAR = 100_000_000n

/** What the roles start with: enough for deployments and reserves of any test. */
const ROLE_BALANCE_TINYBAR = 1_000_000n * TINYBAR_PER_HBAR

/** What each agent starts with: thousands of purchases. */
const AGENT_BALANCE_TINYBAR = 10_000n * TINYBAR_PER_HBAR

/** All HBAR that there are begin in the network's treasury, which funds every account. */
const TREASURY_BALANCE_TINYBAR = 50_000_000_000n * TINYBAR_PER_HBAR

/** Who is there from the start, in order of their numbers from 0.0.1001 on. */
const ROLES = ['treasury', 'operator', 'recorder', 'facilitator', 'owner']

const AGENTS = 10

/** Fills a fresh ledger: system contracts, the network's own accounts, roles and agents. */
export async function createGenesis(ledger: Ledger): Promise<DevnetAccount[]> {
  await ledger.anvil.call('anvil_setCoinbase', [FEE_COLLECTOR.address])
  await installExchangeRate(ledger.anvil)
  await installHaltingCode(ledger.anvil)
  const createdNs = ledger.clock.nextTimestamp()
  for (const number of [
    TREASURY.number,
    ...NODE_ACCOUNT_NUMBERS,
    FEE_COLLECTOR.number,
    RELAY_ACCOUNT.number,
  ]) {
    ledger.accounts.create({ number, createdNs })
  }
  const treasury = ledger.accounts.byNumber(TREASURY.number)
  if (treasury !== undefined) {
    await ledger.evm.setBalances(new Map([[treasury.address, TREASURY_BALANCE_TINYBAR]]), createdNs)
  }
  const accounts: DevnetAccount[] = []
  let number = 1001
  for (const name of ROLES) {
    accounts.push(
      await createAccount(ledger, { name, number, balanceTinybar: ROLE_BALANCE_TINYBAR }),
    )
    number += 1
  }
  for (let index = 1; index <= AGENTS; index += 1) {
    const name = `agent-${index}`
    accounts.push(
      await createAccount(ledger, { name, number, balanceTinybar: AGENT_BALANCE_TINYBAR }),
    )
    number += 1
  }
  const ed25519 = { name: 'ed25519', keyType: 'ED25519' as const, number }
  accounts.push(await createAccount(ledger, { ...ed25519, balanceTinybar: AGENT_BALANCE_TINYBAR }))
  return accounts
}
