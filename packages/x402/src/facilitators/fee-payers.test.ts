import { manualClock } from '@tallystick/service-kit'
import { describe, expect, test } from 'vitest'
import { NETWORK, START_MS } from '../testing/hedera-stand-in.fixture.ts'
import { FacilitatorUnavailable } from './facilitator.ts'
import { createFeePayerDirectory } from './fee-payers.ts'

function stand(
  options: { isDown?: boolean; configured?: ReadonlyMap<string, readonly string[]> } = {},
) {
  const { configured, isDown = false } = options
  const clock = manualClock(START_MS)
  const state = { isDown, feePayer: '0.0.1', reads: 0 }
  const directory = createFeePayerDirectory({
    clock,
    ...(configured === undefined ? {} : { configured }),
    facilitator: {
      settle: async () => await Promise.reject(new Error('not asked')),
      async feePayers() {
        state.reads += 1
        if (state.isDown) throw new FacilitatorUnavailable('down')
        return new Map([[NETWORK, [state.feePayer]]])
      },
    },
  })
  return { clock, directory, state }
}

describe('X11: fee payers', () => {
  test('come from the facilitator and are refreshed in the background', async () => {
    const { clock, directory, state } = stand()
    await directory.firstAttempt
    expect(directory.feePayer(NETWORK)).toBe('0.0.1')
    state.feePayer = '0.0.2'
    await clock.advanceMsSettled(300_000)
    expect(directory.feePayer(NETWORK)).toBe('0.0.2')
    directory.close()
    expect(clock.pendingCount()).toBe(0)
  })

  test('start with the facilitator down: none known, reported so, and found once it is up', async () => {
    const { clock, directory, state } = stand({ isDown: true })
    await directory.firstAttempt
    expect(directory.feePayer(NETWORK)).toBeUndefined()
    expect(directory.state().failure).toBeInstanceOf(FacilitatorUnavailable)
    await clock.advanceMsSettled(15_000)
    expect(state.reads).toBe(4)
    state.isDown = false
    await clock.advanceMsSettled(5_000)
    expect(directory.feePayer(NETWORK)).toBe('0.0.1')
    directory.close()
  })

  test('keep the last good answer while the facilitator is down', async () => {
    const { clock, directory, state } = stand()
    await directory.firstAttempt
    state.isDown = true
    await clock.advanceMsSettled(400_000)
    expect(directory.feePayer(NETWORK)).toBe('0.0.1')
    expect(directory.state().failure).toBeInstanceOf(FacilitatorUnavailable)
    expect(directory.state().readAtMs).toBe(START_MS)
    state.isDown = false
    await clock.advanceMsSettled(5_000)
    expect(directory.state().failure).toBeUndefined()
    directory.close()
  })

  test('from configuration take precedence', async () => {
    const { directory } = stand({ configured: new Map([[NETWORK, ['0.0.7']]]) })
    await directory.firstAttempt
    expect(directory.feePayers(NETWORK)).toEqual(['0.0.7'])
    directory.close()
  })
})
