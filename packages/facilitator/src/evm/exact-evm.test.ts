/** What the facilitator answers on an EVM chain, with a real EVM, a real token and everything that can go wrong. */
import { systemClock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { checkEvmDomain, createExactEvmScheme, createJsonRpcLedger } from '@tallystick/x402/evm'
import { HTTPFacilitatorClient } from '@x402/core/http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SubmissionDoubt } from '../settlement.ts'
import { startXLayerFixture, type XLayerFixture } from '../testing/xlayer.fixture.ts'
import { createEvmFacilitator } from './evm-facilitator.ts'
import { createEvmWallet } from './evm-wallet.ts'

import { createExactEvm, NONCE_USED } from './exact-evm.ts'

let fixture: XLayerFixture

beforeAll(async () => {
  fixture = await startXLayerFixture()
})

afterAll(async () => {
  await fixture.stop()
})

/** PUSH4 0x1626ba7e PUSH1 0xe0 SHL PUSH1 0 MSTORE PUSH1 32 PUSH1 0 RETURN: agrees to everything. */
const AGREES = '0x631626ba7e60e01b60005260206000f3'

/** An order of a contract wallet with that code and one cent. */
async function contractOrder(wallet: `0x${string}`, code: `0x${string}`) {
  const [payload, requirement] = await fixture.order(fixture.account('agent-9'))
  await fixture.chain.controls.setCode(wallet, code)
  await fixture.chain.controls.mint(wallet, 10_000n)
  const { authorization } = payload.payload as { authorization: object }
  const signed = { authorization: { ...authorization, from: wallet }, signature: '0x1234' }
  return [{ ...payload, payload: signed }, requirement] as const
}

const usedAnswer = { errorReason: NONCE_USED.reason, transaction: '' }

describe('what the facilitator answers', () => {
  test('a used nonce is a duplicate, without a transaction of ours', async () => {
    const [payload, requirement] = await fixture.order(fixture.account('agent-8'))
    await fixture.submitAsStranger(payload.payload)
    expect(await fixture.settle(payload, requirement)).toMatchObject({
      success: false,
      ...usedAnswer,
    })
  })

  test('a token that does not revert on a used nonce must not pass', async () => {
    await fixture.chain.controls.setToleratesReplay(true)
    try {
      const [payload, requirement] = await fixture.order(fixture.account('agent-8'))
      expect(await fixture.settle(payload, requirement)).toMatchObject({ success: true })
      expect(await fixture.settle(payload, requirement)).toMatchObject({
        success: false,
        ...usedAnswer,
      })
      // This one is faster than our own transaction and comes after the checks: both are mined in one block, without a
      // revert.
      const [raced] = await fixture.order(fixture.account('agent-8'))
      await fixture.chain.controls.holdBlocks(true)
      const stranger = await fixture.submitAsStranger(raced.payload, { isAwaited: false })
      const settling = fixture.settle(raced, requirement)
      await fixture.poolHolds(2)
      await fixture.chain.controls.holdBlocks(false)
      expect(await settling).toMatchObject({ success: false, ...usedAnswer })
      expect((await fixture.viem().getTransactionReceipt({ hash: stranger })).status).toBe(
        'success',
      )
    } finally {
      await fixture.chain.controls.holdBlocks(false)
      await fixture.chain.controls.setToleratesReplay(false)
    }
  })

  test('a payer without enough is refused before submission', async () => {
    const poor = { ...fixture.account('agent-9'), privateKey: `0x${'77'.repeat(32)}` as const }
    const [payload, requirement] = await fixture.order(poor)
    const sentBefore = await fixture.sentCount()
    expect(await fixture.settle(payload, requirement)).toMatchObject({
      success: false,
      transaction: '',
      errorReason: 'invalid_exact_evm_insufficient_balance',
    })
    expect(await fixture.sentCount()).toBe(sentBefore)
  })

  test('hostile_client P4, no invented refusal: a submission that may not have arrived is reported with its cause, and its outcome is still read', async () => {
    const [payload, requirement] = await fixture.order(fixture.account('agent-9'))
    const { privateKey } = fixture.account('facilitator')
    const { chainId, rpcUrl } = fixture.chain
    const wallet = createEvmWallet({ rpcUrl, chainId, privateKey })
    const cause = new Error('no answer')
    const doubts: SubmissionDoubt[] = []
    const facilitator = createExactEvm({
      network: requirement.network,
      assets: [fixture.asset],
      ledger: createJsonRpcLedger({ url: rpcUrl, clock: systemClock }),
      clock: systemClock,
      wallet: {
        ...wallet,
        send: async (call) => ({ ...(await wallet.send(call)), cause }),
      },
      onDoubt: (_payment, doubt) => doubts.push(doubt),
    })
    const settled = await facilitator.settle(payload, requirement)
    expect(settled.success).toBe(true)
    expect(doubts).toEqual([{ transaction: settled.transaction, cause }])
  })

  test('hostile_client P3, a hash after broadcast: while no block comes, the settlement is pending with it; when repeated, nothing is sent twice', async () => {
    const [payload, requirement] = await fixture.order(fixture.account('agent-9'))
    const client = new HTTPFacilitatorClient({ url: fixture.impatient.url })
    await fixture.chain.controls.holdBlocks(true)
    try {
      const first = await client.settle(payload, requirement)
      expect(first).toMatchObject({ success: false, errorReason: 'settlement_pending' })
      expect(first.transaction).toMatch(/^0x[0-9a-f]{64}$/)
      const second = await client.settle(payload, requirement)
      expect(second).toMatchObject({ transaction: first.transaction })
      await fixture.poolHolds(1)
      await fixture.chain.controls.holdBlocks(false)
      const third = await client.settle(payload, requirement)
      expect(third).toMatchObject({ success: true, transaction: first.transaction })
    } finally {
      await fixture.chain.controls.holdBlocks(false)
    }
  })

  test('a nonce that somebody else took from the submitting account blocks nothing', async () => {
    const first = await fixture.order(fixture.account('agent-9'))
    expect(await fixture.settle(...first)).toMatchObject({ success: true })
    // The same key in another process, as a second replica would have it.
    const { privateKey } = fixture.account('facilitator')
    await fixture.viem(privateKey).sendTransaction({ to: fixture.operator(), value: 1n })
    expect(
      await fixture.settle(...(await fixture.order(fixture.account('agent-9')))),
    ).toMatchObject({
      success: true,
    })
    expect(
      await fixture.settle(...(await fixture.order(fixture.account('agent-9')))),
    ).toMatchObject({
      success: true,
    })
  })

  test.each([
    // JUMPDEST, and back to it.
    ['loops always', '0x5b600056', 'invalid_exact_evm_payload_signature'],
    ['runs into an invalid opcode', '0xfe', 'invalid_exact_evm_payload_signature'],
    [
      'runs into an invalid opcode once somebody pays',
      '0x323314600757fe5b631626ba7e60e01b60005260206000f3',
      'invalid_exact_evm_transaction_simulation_failed',
    ],
    // Agrees to its token's own call, and not in a transaction that somebody else pays for.
    [
      'loops once somebody pays',
      '0x32331415601757631626ba7e60e01b60005260206000f35b601756',
      'invalid_exact_evm_transaction_simulation_failed',
    ],
    // Agrees to the token's own call, and to any that is free: only the transaction itself shows it.
    [
      'loops once somebody pays a price',
      '0x3233143a151715601a57631626ba7e60e01b60005260206000f35b601a56',
      'invalid_exact_evm_transaction_simulation_failed',
    ],
    [
      'loops unless gas is free',
      '0x3a601457631626ba7e60e01b60005260206000f35b601456',
      'invalid_exact_evm_payload_signature',
    ],
  ] as const)('X14, X21: a contract wallet that %s costs nothing', async (_, code, reason) => {
    const order = await contractOrder(`0x${'10'.repeat(20)}`, code)
    const sent = await fixture.sentCount()
    const answer = await fixture.settle(...order)
    expect(answer).toMatchObject({ success: false, errorReason: reason, transaction: '' })
    expect(await fixture.sentCount()).toBe(sent)
  })

  test('a contract wallet pays by EIP-1271', async () => {
    const wallet = `0x${'c0'.repeat(20)}` as const
    expect(await fixture.settle(...(await contractOrder(wallet, AGREES)))).toMatchObject({
      success: true,
      payer: wallet,
    })
    expect(await fixture.chain.controls.balanceOf(wallet)).toBe(0n)
  })

  test('X21: a contract wallet whose transaction reverted, though it agreed before, is refused without another', async () => {
    const wallet = `0x${'c1'.repeat(20)}` as const
    const order = await contractOrder(wallet, AGREES)
    await fixture.chain.controls.holdBlocks(true)
    const settling = fixture.settle(...order)
    await fixture.poolHolds(1)
    await fixture.chain.controls.setCode(wallet, '0x5b600056')
    await fixture.chain.controls.holdBlocks(false)
    expect(await settling).toMatchObject({ success: false, errorReason: 'transaction_failed' })
    const sent = await fixture.sentCount()
    for (let again = 0; again < 3; again += 1)
      expect(await fixture.settle(...(await contractOrder(wallet, AGREES)))).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_contract_wallet_reverted',
        transaction: '',
      })
    expect(await fixture.sentCount()).toBe(sent)
    expect(
      await fixture.settle(...(await fixture.order(fixture.account('agent-9')))),
    ).toMatchObject({ success: true })
  })

  test('X21: while a contract wallet’s transaction is in doubt, no other of it is submitted', async () => {
    const wallet = `0x${'c3'.repeat(20)}` as const
    const client = new HTTPFacilitatorClient({ url: fixture.impatient.url })
    const order = await contractOrder(wallet, AGREES)
    const next = await contractOrder(wallet, AGREES)
    await fixture.chain.controls.holdBlocks(true)
    try {
      expect(await client.settle(...order)).toMatchObject({ errorReason: 'settlement_pending' })
      const sent = await fixture.sentCount()
      await expect(client.settle(...next)).rejects.toThrow('consensus_unavailable')
      expect(await fixture.sentCount()).toBe(sent)
    } finally {
      await fixture.chain.controls.holdBlocks(false)
    }
    for (const each of [order, next])
      expect(await client.settle(...each)).toMatchObject({ success: true })
  })

  test('X21: with contract wallets off, none is asked, and what a key signed is settled', async () => {
    const { chainId, rpcUrl } = fixture.chain
    const { privateKey } = fixture.account('facilitator')
    const { scheme } = await createEvmFacilitator(
      { rpcUrl, chainId, privateKey, assets: [fixture.asset], contractWallets: false },
      { clock: systemClock },
    )
    const wallet = `0x${'c2'.repeat(20)}` as const
    expect(await scheme.settle(...(await contractOrder(wallet, AGREES)))).toMatchObject({
      errorReason: 'invalid_exact_evm_payload_key_signature_required',
      transaction: '',
    })
    const order = await fixture.order(fixture.account('agent-9'))
    expect(await scheme.settle(...order)).toMatchObject({ success: true })
  })

  test('an amount, a receiver or a network other than the seller’s is refused', async () => {
    const [payload, requirement] = await fixture.order(fixture.account('agent-9'))
    const dearer = { ...requirement, amount: '10001' }
    expect(await fixture.settle(payload, dearer)).toMatchObject({
      errorReason: 'accepted_payment_requirements_mismatch',
    })
    expect(await fixture.settle({ ...payload, accepted: dearer }, dearer)).toMatchObject({
      errorReason: 'invalid_exact_evm_payload_authorization_value_mismatch',
      transaction: '',
    })
    expect(await fixture.settle(payload, { ...requirement, network: 'eip155:1' })).toMatchObject({
      errorReason: 'network_mismatch',
    })
  })

  test('it is ready, and says which chain it would not be ready for', async () => {
    const report = (await (await fetch(`${fixture.facilitator.url}/ready`)).json()) as {
      checks: { evm: { kind: string; details?: { address: string } } }
    }
    expect(report.checks.evm).toMatchObject({
      kind: 'ready',
      details: { address: fixture.account('facilitator').address },
    })
    const { privateKey } = fixture.account('facilitator')
    const common = { rpcUrl: fixture.chain.rpcUrl, privateKey }
    const clock = systemClock
    const renamed = [{ ...fixture.asset, name: 'USDT0' }]
    await expect(
      createEvmFacilitator({ ...common, chainId: 196, assets: renamed }, { clock }),
    ).rejects.toThrow(/wrong_domain/)
    const elsewhere = [{ ...fixture.asset, network: 'eip155:1' }]
    await expect(
      createEvmFacilitator({ ...common, chainId: 1, assets: elsewhere }, { clock }),
    ).rejects.toThrow(/wrong_chain/)
  })
})

describe('the ledger over JSON-RPC', () => {
  test('finds landed payments, and reads the token', async () => {
    const ledger = createJsonRpcLedger({ url: fixture.chain.rpcUrl, clock: systemClock })
    expect(await checkEvmDomain(fixture.asset, ledger)).toEqual({ kind: 'right' })
    const [payload, requirement] = await fixture.order(fixture.account('agent-10'))
    const scheme = createExactEvmScheme({ assets: [fixture.asset], ledger, clock: systemClock })
    const verified = await scheme.verify(payload.payload, { ...requirement, scheme: 'exact' })
    if (verified.kind !== 'valid') throw new Error('not valid')
    expect(await scheme.find(verified.payment)).toEqual({ kind: 'unknown' })
    const transaction = await fixture.submitAsStranger(payload.payload)
    expect(await scheme.find(verified.payment)).toMatchObject({ kind: 'landed', transaction })
  })

  test('an address without a token, or without a node, is LedgerUnavailable', async () => {
    const key = {
      asset: fixture.operator(),
      payer: fixture.operator(),
      nonce: `0x${'00'.repeat(32)}`,
    } as const
    for (const url of [fixture.chain.rpcUrl, 'http://127.0.0.1:1', fixture.facilitator.url]) {
      const ledger = createJsonRpcLedger({ url, clock: systemClock })
      await expect(ledger.isAuthorizationUsed(key)).rejects.toThrow(LedgerUnavailable)
    }
  })
})
