import { axeFindings, chromiumMissing, launchChromium, watchPage } from '@tallystick/page-testing'
import { parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Devnet, startDevnet } from '../start-devnet.ts'
import { accountNamed, viemClient } from '../testing/test-clients.fixture.ts'

const because = chromiumMissing === undefined ? '' : ` (skipped: ${chromiumMissing})`

describe.skipIf(chromiumMissing !== undefined)(`L22: the page at /${because}`, () => {
  let devnet: Devnet
  let browser: Awaited<ReturnType<typeof launchChromium>>
  beforeAll(async () => {
    devnet = await startDevnet()
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await devnet.stop()
  })

  test('L22: shows what happens as it happens, says when the ledger does not answer, and has no fault that axe finds', async () => {
    const { page, faults } = await watchPage(browser, {
      port: new URL(devnet.mirrorUrl).port,
      isProvoked: (message) => message.text().includes('ERR_'),
    })
    await page.goto(`${devnet.mirrorUrl}/`)
    const text = (id: string) => page.locator(`#${id}`).innerText()
    await expect.poll(() => text('accounts')).toContain(accountNamed(devnet, 'agent-1').accountId)
    const client = viemClient(devnet, accountNamed(devnet, 'agent-1'))
    const gasPrice = await client.getGasPrice()
    const to = accountNamed(devnet, 'agent-2').evmAddress
    await client.sendTransaction({ to, value: parseEther('12.5'), gasPrice, gas: 30_000n })
    await expect.poll(() => text('transactions')).toMatch(/ETHEREUMTRANSACTION\s+SUCCESS\s+12\.5/)
    expect(await page.locator('#tokens-none').isVisible()).toBe(true)
    expect(await axeFindings(page, { inDarkToo: true })).toEqual([])
    devnet.controls.setUnavailable({ mirror: true })
    await expect.poll(() => text('state')).toContain('does not answer')
    devnet.controls.setUnavailable({ mirror: false })
    await expect.poll(() => text('state')).toBe('')
    expect(faults).toEqual([])
  })

  test('L22: a browser that opens the port of JSON-RPC comes to the page, a program gets a hint', async () => {
    const answer = await fetch(devnet.rpcUrl, {
      headers: { accept: 'text/html' },
      redirect: 'manual',
    })
    expect(answer.headers.get('location')).toBe(devnet.mirrorUrl)
    expect(await (await fetch(devnet.rpcUrl)).text()).toContain('JSON-RPC endpoint')
  })
})
