import { describe, expect, test } from 'vitest'
import {
  type ContractOutcome,
  cancelAndClaim,
  setGuard,
  type Transact,
  topUp,
} from './access-contract.ts'

const AGENT = `0x${'a1'.repeat(20)}` as const
const refused = (errorName: string) => ({ kind: 'refused', errorName }) as const

type Script = {
  readonly cancel?: ContractOutcome
  readonly claim?: ContractOutcome
  readonly topUp?: ContractOutcome
  readonly setGuard?: ContractOutcome
}

/** A contract that answers as told and notes how it was claimed from. */
function makeContract(script: Script) {
  const claims: (boolean | undefined)[] = []
  const contract: Transact = async ({ functionName, isCertain }) => {
    if (functionName === 'claimRefund') claims.push(isCertain)
    const name = functionName === 'claimRefund' ? 'claim' : functionName
    return script[name] ?? refused('untold')
  }
  return { contract, claims }
}

const cancelled = (tinybar: bigint) => ({ kind: 'done', transaction: '0x01', tinybar }) as const

describe('cancel', () => {
  test('claims what the cancel left without trying first, since reads lag behind it', async () => {
    const claim = { kind: 'done', transaction: '0x02', tinybar: 9n } as const
    const { contract, claims } = makeContract({ cancel: cancelled(9n), claim })
    expect(await cancelAndClaim(contract)).toEqual({
      kind: 'cancelled',
      refundTinybar: 9n,
      transaction: '0x02',
    })
    expect(claims).toEqual([true])
  })

  test('claims nothing where the cancel left nothing', async () => {
    const { contract, claims } = makeContract({ cancel: cancelled(0n) })
    expect(await cancelAndClaim(contract)).toMatchObject({ kind: 'cancelled', refundTinybar: 0n })
    expect(claims).toEqual([])
  })

  test('claims what an earlier cancel left unclaimed, trying first', async () => {
    const claim = { kind: 'done', transaction: '0x02', tinybar: 5n } as const
    const cancel = refused('AccessWindow_NothingToCancel')
    const { contract, claims } = makeContract({ cancel, claim })
    expect(await cancelAndClaim(contract)).toMatchObject({ kind: 'cancelled', refundTinybar: 5n })
    expect(claims).toEqual([false])
  })

  test('says that there is nothing, and passes other refusals on', async () => {
    const cancel = refused('AccessWindow_NothingToCancel')
    const claim = refused('AccessWindow_NothingToClaim')
    expect(await cancelAndClaim(makeContract({ cancel, claim }).contract)).toEqual({
      kind: 'nothing-to-cancel',
    })
    const other = makeContract({ cancel: refused('Other') }).contract
    expect(await cancelAndClaim(other)).toEqual({ kind: 'refused', errorName: 'Other' })
    const unclaimed = makeContract({ cancel, claim: refused('Other') }).contract
    expect(await cancelAndClaim(unclaimed)).toEqual({ kind: 'refused', errorName: 'Other' })
  })
})

describe('A17: guard', () => {
  test('says what was set and by which transaction', async () => {
    const { contract } = makeContract({ setGuard: cancelled(0n) })
    const done = { kind: 'guard-set', transaction: '0x01' }
    expect(await setGuard(contract, true)).toEqual({ ...done, isGuarded: true })
    expect(await setGuard(contract, false)).toEqual({ ...done, isGuarded: false })
  })

  test('passes a refusal on', async () => {
    const { contract } = makeContract({ setGuard: refused('Other') })
    expect(await setGuard(contract, true)).toEqual({ kind: 'refused', errorName: 'Other' })
  })
})

describe('top up', () => {
  const options = { agent: AGENT, amountTinybar: 3n }

  test('gives the new balance', async () => {
    const { contract } = makeContract({
      topUp: { kind: 'done', transaction: '0x03', tinybar: 12n },
    })
    expect(await topUp(contract, options)).toEqual({
      kind: 'topped-up',
      amountTinybar: 3n,
      balanceTinybar: 12n,
      transaction: '0x03',
    })
  })

  test('tells a window that is not open from another refusal', async () => {
    const closed = makeContract({ topUp: refused('AccessWindow_NoOpenWindow') }).contract
    expect(await topUp(closed, options)).toEqual({ kind: 'no-open-window' })
    const other = makeContract({ topUp: refused('Other') }).contract
    expect(await topUp(other, options)).toEqual({ kind: 'refused', errorName: 'Other' })
  })
})
