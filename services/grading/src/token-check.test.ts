import { manualClock } from '@tallystick/service-kit'
import { LedgerUnavailable } from '@tallystick/x402'
import { domainSeparator, signingDomain, X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { describe, expect, test } from 'vitest'
import { createTokenCheck } from './payments.ts'

const RIGHT = `0x${domainSeparator(signingDomain(X_LAYER_USDT0)).toString('hex')}` as const

function checked() {
  const wrong: string[] = []
  const chain = { isDown: true, id: 196, separator: RIGHT }
  const clock = manualClock(0)
  const answer = async <Value>(value: () => Value): Promise<Value> => {
    if (chain.isDown) throw new LedgerUnavailable('down')
    return value()
  }
  const ledger = {
    chainId: () => answer(() => chain.id),
    domainSeparator: () => answer(() => chain.separator),
  }
  const onWrong = ({ kind }: { readonly kind: string }): void => void wrong.push(kind)
  const token = createTokenCheck({ asset: X_LAYER_USDT0, ledger, clock, onWrong })
  return { chain, clock, token, wrong }
}

describe('G9: the configured token against the network’s', () => {
  test('while the network is silent sales go on, and the check repeats until it answers', async () => {
    const { chain, clock, token } = checked()
    expect((await token.start()).kind).toBe('unreachable')
    expect(token.maySell()).toBe(true)
    chain.isDown = false
    await clock.advanceMsSettled(30_000)
    expect(clock.pendingCount()).toBe(0)
    expect([(await token.check()).kind, token.maySell()]).toEqual(['right', true])
  })

  test('once the network has named another token, nothing is sold, even while it is silent again', async () => {
    const { chain, clock, token, wrong } = checked()
    await token.start()
    Object.assign(chain, { isDown: false, separator: `0x${'00'.repeat(32)}` })
    await clock.advanceMsSettled(30_000)
    expect(token.maySell()).toBe(false)
    chain.isDown = true
    expect([(await token.check()).kind, token.maySell()]).toEqual(['unreachable', false])
    Object.assign(chain, { isDown: false, separator: RIGHT, id: 1952 })
    expect([(await token.check()).kind, token.maySell()]).toEqual(['wrong_chain', false])
    chain.id = 196
    expect([(await token.check()).kind, token.maySell()]).toEqual(['right', true])
    expect(wrong).toEqual(['wrong_domain', 'wrong_chain'])
  })

  test('closed, it leaves no timer', async () => {
    const { clock, token } = checked()
    await token.start()
    token.close()
    expect(clock.pendingCount()).toBe(0)
  })
})
