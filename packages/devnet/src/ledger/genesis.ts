import { hederaSigner, TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { type Hex, keccak256, stringToBytes } from 'viem'
import type { DevnetAccount, NewAccount } from '../devnet.ts'
import type { Entity } from './account-registry.ts'
import { longZeroAddress } from './entity-id.ts'
import { installHaltingCode } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import {
  FEE_COLLECTOR,
  installExchangeRate,
  NODE_ACCOUNT_NUMBERS,
  RELAY_ACCOUNT,
  TREASURY,
} from './network.ts'

/** The private key of the account with that name, the same on every machine. */
export function privateKeyOf(name: string): Hex {
  return keccak256(stringToBytes(`tallystick devnet ${name}`))
}

/**
 * Makes an account, funded from the network's treasury, and returns it with its key. The caller holds the queue.
 * @throws when the treasury holds less, or the key has an account already: keys are derived from names unless given
 */
export async function createAccount(ledger: Ledger, options: NewAccount): Promise<DevnetAccount> {
  const { keyType = 'ECDSA_SECP256K1', name, balanceTinybar } = options
  const privateKey = options.privateKey ?? privateKeyOf(name)
  const keyKind = keyType === 'ED25519' ? 'ed25519' : 'ecdsa'
  const signer = hederaSigner({ accountId: '', privateKey, keyKind })
  const treasury = longZeroAddress(TREASURY.number)
  const [left = 0n] = await ledger.evm.balances([treasury])
  if (left < balanceTinybar) throw new Error(`the treasury holds ${left} tinybar only`)
  const createdNs = ledger.clock.nextTimestamp()
  const key = { kind: keyType, publicKey: Buffer.from(signer.publicKey).toString('hex') } as const
  const entity = ledger.accounts.create({ address: signer.evmAddress, key, createdNs })
  const balances = new Map([
    [treasury, left - balanceTinybar],
    [entity.address, balanceTinybar],
  ])
  await ledger.evm.setBalances(balances, createdNs)
  recordCreation(ledger, entity, balanceTinybar)
  return { name, accountId: entity.id, evmAddress: entity.address, privateKey, keyType }
}

function recordCreation(ledger: Ledger, entity: Entity, balanceTinybar: bigint): void {
  ledger.records.add({
    consensusNs: entity.createdNs,
    recordedAtMs: ledger.clock.unixMs(),
    name: 'CRYPTOCREATEACCOUNT',
    id: { account: TREASURY.id, validStartNs: entity.createdNs, scheduled: false, nonce: 0 },
    result: 'SUCCESS',
    chargedFeeTinybar: 0n,
    maxFeeTinybar: 0n,
    memo: new Uint8Array(),
    node: '0.0.3',
    hash: Buffer.from(keccak256(stringToBytes(`create ${entity.id}`), 'bytes')),
    validDurationSeconds: 120,
    entityId: entity.id,
    transfers: [
      { account: TREASURY.id, amountTinybar: -balanceTinybar, isApproval: false },
      { account: entity.id, amountTinybar: balanceTinybar, isApproval: false },
    ],
  })
}

/** What the roles start with: enough for deployments and reserves of any test. */
const ROLE_BALANCE_TINYBAR = 1_000_000n * TINYBAR_PER_HBAR

/** What each agent starts with: thousands of purchases. */
const AGENT_BALANCE_TINYBAR = 10_000n * TINYBAR_PER_HBAR

/** All HBAR that there are begin in the network's treasury, which funds every account. */
const TREASURY_BALANCE_TINYBAR = 50_000_000_000n * TINYBAR_PER_HBAR

/** Who is there from the start, in order of their numbers from 0.0.1001 on. */
const ROLES = ['treasury', 'operator', 'recorder', 'facilitator', 'owner']

/** Who pays and is paid in tests. */
export const AGENTS = Array.from({ length: 10 }, (_, index) => `agent-${index + 1}`)

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
  const treasury = longZeroAddress(TREASURY.number)
  await ledger.evm.setBalances(new Map([[treasury, TREASURY_BALANCE_TINYBAR]]), createdNs)
  const accounts: DevnetAccount[] = []
  for (const [name, balanceTinybar] of [
    ...ROLES.map((role) => [role, ROLE_BALANCE_TINYBAR] as const),
    ...AGENTS.map((agent) => [agent, AGENT_BALANCE_TINYBAR] as const),
  ]) {
    accounts.push(await createAccount(ledger, { name, balanceTinybar }))
  }
  const ed25519 = {
    name: 'ed25519',
    keyType: 'ED25519',
    balanceTinybar: AGENT_BALANCE_TINYBAR,
  } as const
  accounts.push(await createAccount(ledger, ed25519))
  return accounts
}
