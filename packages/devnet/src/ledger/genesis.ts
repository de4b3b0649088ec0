import { exchangeRateRuntimeCode } from '@tallystick/contracts'
import { hederaSigner, TINYBAR_PER_HBAR } from '@tallystick/x402/hedera'
import { type Address, type Hex, keccak256, stringToBytes } from 'viem'
import type { Entity } from './account-registry.ts'
import { longZeroAddress } from './entity-id.ts'
import { HALTING_ADDRESS } from './evm-transaction.ts'
import type { Ledger } from './ledger.ts'
import {
  EXCHANGE_RATE_ADDRESS,
  FEE_COLLECTOR,
  NODE_ACCOUNT_NUMBERS,
  RELAY_ACCOUNT,
  TREASURY,
} from './network.ts'
import { listTransfers } from './records.ts'

/** A funded account with its key. */
export type DevnetAccount = {
  name: string
  /** `0.0.x`. */
  accountId: string
  /** Lower case; the alias of ECDSA accounts, the long-zero address of ED25519 ones. */
  evmAddress: Address
  /** Raw ECDSA key or ED25519 seed, 32 bytes of hex. */
  privateKey: Hex
  keyType: 'ECDSA_SECP256K1' | 'ED25519'
}

export type NewAccount = {
  name: string
  balanceTinybar: bigint
  /** ECDSA by default. */
  keyType?: DevnetAccount['keyType']
  /** By default derived from the name, so that the same script makes the same accounts. */
  privateKey?: Hex
}

/** The private key of the account with that name, the same on every machine. */
export function derivePrivateKey(name: string): Hex {
  return keccak256(stringToBytes(`tallystick devnet ${name}`))
}

/**
 * Creates an account funded from the network's treasury and returns it with its key. The caller holds the queue.
 * @throws if the treasury holds less, or the key already has an account; by default keys are derived from names
 */
export async function createAccount(ledger: Ledger, options: NewAccount): Promise<DevnetAccount> {
  const { keyType = 'ECDSA_SECP256K1', name, balanceTinybar } = options
  const privateKey = options.privateKey ?? derivePrivateKey(name)
  const keyKind = keyType === 'ED25519' ? 'ed25519' : 'ecdsa'
  const signer = hederaSigner({ accountId: '', privateKey, keyKind })
  const treasury = longZeroAddress(TREASURY.number)
  const [left = 0n] = await ledger.evm.balances([treasury])
  if (left < balanceTinybar) throw new Error(`the treasury holds only ${left} tinybar`)
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
    name: 'CRYPTOCREATEACCOUNT',
    id: { account: TREASURY.id, validStartNs: entity.createdNs },
    isScheduled: false,
    result: 'SUCCESS',
    chargedFeeTinybar: 0n,
    maxFeeTinybar: 0n,
    memo: new Uint8Array(),
    node: '0.0.3',
    hash: Buffer.from(keccak256(stringToBytes(`create ${entity.id}`), 'bytes')),
    validDurationSeconds: 120,
    entityId: entity.id,
    transfers: listTransfers(
      new Map([
        [TREASURY.id, -balanceTinybar],
        [entity.id, balanceTinybar],
      ]),
    ),
  })
}

/** What each role starts with: enough for the deployments and reserves of any test. */
const ROLE_BALANCE_TINYBAR = 1_000_000n * TINYBAR_PER_HBAR

/** What each agent starts with: thousands of purchases. */
const AGENT_BALANCE_TINYBAR = 10_000n * TINYBAR_PER_HBAR

/** All HBAR start in the network's treasury, which funds every account. */
const TREASURY_BALANCE_TINYBAR = 50_000_000_000n * TINYBAR_PER_HBAR

/** The accounts from 0.0.1001 on, in this order. */
const ROLES = ['treasury', 'operator', 'recorder', 'facilitator', 'owner']

/** The accounts that pay and are paid in tests. */
export const AGENTS = Array.from({ length: 10 }, (_, index) => `agent-${index + 1}`)

/** Fills a fresh ledger: system contracts, the network's own accounts, roles and agents. */
export async function createGenesis(ledger: Ledger): Promise<DevnetAccount[]> {
  await ledger.anvil.batch([
    ['anvil_setCoinbase', [FEE_COLLECTOR.address]],
    ['anvil_setCode', [EXCHANGE_RATE_ADDRESS, exchangeRateRuntimeCode]],
    ['anvil_setCode', [HALTING_ADDRESS, '0xfe']],
  ])
  await ledger.tokens.install()
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
  const newcomers: NewAccount[] = [
    ...ROLES.map((name) => ({ name, balanceTinybar: ROLE_BALANCE_TINYBAR })),
    ...AGENTS.map((name) => ({ name, balanceTinybar: AGENT_BALANCE_TINYBAR })),
    { name: 'ed25519', keyType: 'ED25519', balanceTinybar: AGENT_BALANCE_TINYBAR },
  ]
  const accounts: DevnetAccount[] = []
  for (const newcomer of newcomers) accounts.push(await createAccount(ledger, newcomer))
  return accounts
}
