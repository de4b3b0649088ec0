import { createPrivateKey, createPublicKey } from 'node:crypto'
import secp256k1 from 'secp256k1'
import { hexToBytes, keccak256, stringToBytes } from 'viem'
import type { DevnetAccount, NewAccount } from '../devnet.ts'
import { type AccountKey, evmAddressOf } from './account-key.ts'
import type { Entity } from './account-registry.ts'
import { longZeroAddress } from './entity-id.ts'
import type { Ledger } from './ledger.ts'
import { TREASURY } from './network.ts'

const ED25519_PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

/**
 * Makes an account, funded from the network's treasury, and returns it with its key. The caller holds the queue.
 * @throws when the treasury holds less, or the key has an account already: keys are derived from names unless given
 */
export async function createAccount(
  ledger: Ledger,
  options: NewAccount & { number?: number },
): Promise<DevnetAccount> {
  const { keyType = 'ECDSA_SECP256K1', name, balanceTinybar } = options
  const privateKey = options.privateKey ?? keccak256(stringToBytes(`tallystick devnet ${name}`))
  const key = publicKeyOf(keyType, hexToBytes(privateKey))
  const treasury = longZeroAddress(TREASURY.number)
  const [left = 0n] = await ledger.evm.balances([treasury])
  if (left < balanceTinybar) throw new Error(`the treasury holds ${left} tinybar only`)
  const consensusNs = ledger.clock.nextTimestamp()
  const entity = ledger.accounts.create({
    ...(options.number === undefined ? {} : { number: options.number }),
    ...(key.kind === 'ECDSA_SECP256K1'
      ? { address: evmAddressOf(Buffer.from(key.publicKey, 'hex')) }
      : {}),
    key,
    createdNs: consensusNs,
  })
  const balances = new Map([
    [treasury, left - balanceTinybar],
    [entity.address, balanceTinybar],
  ])
  await ledger.evm.setBalances(balances, consensusNs)
  recordCreation(ledger, entity, balanceTinybar)
  return { name, accountId: entity.id, evmAddress: entity.address, privateKey, keyType }
}

function publicKeyOf(
  keyType: DevnetAccount['keyType'],
  privateKey: Uint8Array,
): Exclude<AccountKey, { kind: 'KEY_LIST' }> {
  if (keyType === 'ECDSA_SECP256K1') {
    const publicKey = secp256k1.publicKeyCreate(privateKey, true)
    return { kind: keyType, publicKey: Buffer.from(publicKey).toString('hex') }
  }
  const pkcs8 = Buffer.concat([ED25519_PKCS8_PREFIX, privateKey])
  const pem = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }).export({
    format: 'pem',
    type: 'pkcs8',
  })
  const der = createPublicKey(pem).export({ format: 'der', type: 'spki' })
  return { kind: keyType, publicKey: der.subarray(-32).toString('hex') }
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
