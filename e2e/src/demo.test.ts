import { expect, it } from 'vitest'
import { ended, spawnScript } from './spawned-stack.ts'

it('A22: npm run demo plays to the end: 402, pay, 200, renewed by the network, five by one call, 429, cancel, refund', async () => {
  const { child, output } = spawnScript('scripts/demo.ts', [])
  const code = await ended(child)
  const story = output()
  expect(code, story).toBe(0)
  expect(story).toContain('402 Payment Required: 12 HBAR to account 0.0.')
  expect(story).toMatch(/200, paid 12 HBAR: transaction 0\.0\.\d+@\d+\.\d+/)
  expect(story).toMatch(/it sets its guard, so that nobody else can use the window: 0x[0-9a-f]{64}/)
  expect(story).toMatch(/198 calls left, recorded by 0x[0-9a-f]{64}/)
  expect(story).toMatch(/renewed by the ledger, as the contract itself: 0x[0-9a-f]{64}/)
  expect(story).toContain('ends 20 s after the last one')
  expect(story).toContain('199 calls left')
  expect(story).toMatch(/one call renewed 5 windows: 0\.3\d* HBAR for each/)
  expect(story).toContain('429')
  // On a busy machine another period of 3 HBAR may have begun by then.
  expect(story).toMatch(/cancelled; [36] HBAR came back in 0x[0-9a-f]{64}/)
  expect(story).toContain('The end.')
})
