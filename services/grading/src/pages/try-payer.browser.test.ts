/** Who pays on the forms page: a development key, a wallet or nobody; and the program to copy. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { evmSigner, type TransferTypedData, X_LAYER_USDT0 } from '@tallystick/x402/evm'
import { describe, expect, it } from 'vitest'
import { firstRequestCode } from './first-request.ts'
import {
  cannotRunReason,
  fillPick,
  MARKET,
  OTHER_HOST,
  payFor,
  type Site,
  text,
  useSite,
  WAIT,
} from './site.fixture.ts'

/** A wallet as browsers have them; its key stays outside the page. It starts on another network. */
const WALLET = `globalThis.ethereum = {
  chainId: '0x1',
  request({ method, params }) {
    return globalThis.walletCall(method, JSON.stringify(params ?? []), this.chainId).then((answer) => {
      const { error, result, chainId } = JSON.parse(answer)
      if (chainId) this.chainId = chainId
      if (error) throw Object.assign(new Error('wallet'), { code: error })
      return result
    })
  },
}`

/** A page with a wallet that signs with an agent's key; returns what the wallet was asked. */
async function visitWithWallet(site: Site, behaviour: { readonly declines?: boolean } = {}) {
  const signer = evmSigner(site.xlayer().account('agent-8'))
  const requested: string[] = []
  const page = await site.visit('/method')
  await page.exposeFunction(
    'walletCall',
    async (method: string, params: string, chainId: string) => {
      requested.push(method)
      const read = JSON.parse(params)
      if (method === 'eth_requestAccounts') return JSON.stringify({ result: [signer.address] })
      if (method === 'eth_chainId') return JSON.stringify({ result: chainId })
      if (method === 'wallet_switchEthereumChain')
        return JSON.stringify({ result: null, chainId: read[0].chainId })
      if (behaviour.declines === true) return JSON.stringify({ error: 4001 })
      const typed: { domain: TransferTypedData['domain']; message: Record<string, string> } =
        JSON.parse(read[1])
      const { message } = typed
      const result = await signer.signTypedData({
        ...typed,
        message: {
          ...message,
          value: BigInt(message['value'] ?? ''),
          validAfter: BigInt(message['validAfter'] ?? ''),
          validBefore: BigInt(message['validBefore'] ?? ''),
        },
      } as unknown as TransferTypedData)
      return JSON.stringify({ result })
    },
  )
  await page.addInitScript(WALLET)
  await page.goto(`${site.service().baseUrl}/try`)
  await page.click('#connect')
  await page.waitForSelector(`#payer-words:has-text("${signer.address}")`, WAIT)
  return { page, asked: requested }
}

describe.skipIf(cannotRunReason !== undefined)(
  `who pays, in a browser ${cannotRunReason ?? ''}`,
  () => {
    const site = useSite()

    describe('a development key from the link', () => {
      it('is removed from the address bar and the history, and kept only in memory', async () => {
        const page = await site.visitWithKey('agent-2')
        const { address, privateKey } = site.xlayer().account('agent-2')
        expect(page.url()).toBe(`${site.service().baseUrl}/try`)
        expect(await text(page, '#payer-words')).toContain(address)
        const stored = await page.evaluate<string>(
          'JSON.stringify([history.state, Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])',
        )
        expect(stored).not.toContain(privateKey.slice(2))
        expect(await page.content()).not.toContain(privateKey.slice(2))
        await page.reload()
        await expect.poll(() => text(page, '#payer-words'), WAIT).toContain('No wallet found')
      })

      it('is dropped unless the service runs on the reader’s own machine', async () => {
        const { port } = new URL(site.service().baseUrl)
        const { privateKey } = site.xlayer().account('agent-2')
        const page = await site.visit(`http://${OTHER_HOST}:${port}/try#key=${privateKey}`)
        await expect.poll(() => text(page, '#payer-problem'), WAIT).toContain('It was dropped')
        expect(page.url()).not.toContain('key=')
        expect(await text(page, '#grade-send')).toBe('Check the pick, free')
      })

      it('that is invalid is reported, and nobody pays', async () => {
        const page = await site.visit('/try#key=0x12')
        await expect.poll(() => text(page, '#payer-problem'), WAIT).toContain('invalid key')
      })
    })

    describe('a wallet (EIP-1193)', () => {
      it('signs one transfer of the price on the right network, and pays', async () => {
        const payer = site.xlayer().account('agent-8')
        const before = await site.balanceOf(payer)
        const { page, asked: requests } = await visitWithWallet(site)
        await fillPick(page, { odds: '1.90' })
        await payFor(page, 'GRADED')
        expect(requests).toEqual([
          'eth_requestAccounts',
          'eth_chainId',
          'wallet_switchEthereumChain',
          'eth_signTypedData_v4',
        ])
        expect(await site.balanceOf(payer)).toBe(before - 10_000n)
      })

      it('that declines is not charged', async () => {
        const { page } = await visitWithWallet(site, { declines: true })
        await fillPick(page, { odds: '1.90' })
        await page.click('#grade-send')
        await expect
          .poll(() => text(page, '#outcome'), WAIT)
          .toBe('You declined in the wallet. Nothing was charged.')
      })
    })

    describe('without a payer', () => {
      it('a request is checked for free, and its price shown', async () => {
        const page = await site.visit('/try')
        await fillPick(page, { odds: '1.90' })
        await expect.poll(() => text(page, '#grade-send'), WAIT).toBe('Check the pick, free')
        await page.click('#grade-send')
        await expect.poll(() => text(page, '#outcome'), WAIT).toContain('It costs $0.01 in USD₮0')
      })

      it('an account without tokens is refused with a message, and nothing moves', async () => {
        const { privateKey } = site.xlayer().account('operator')
        const page = await site.visit(`/try#key=0x${'42'.repeat(32)}`)
        expect(privateKey).not.toBe(`0x${'42'.repeat(32)}`)
        await page.waitForSelector('#payer-words:has-text("development key")', WAIT)
        await fillPick(page, { odds: '1.90' })
        await page.click('#grade-send')
        await expect
          .poll(() => text(page, '#outcome .note.bad'), WAIT)
          .toContain('Nothing was charged.')
      })
    })

    it('X13: the first paid request runs as copied, and pays', async () => {
      const payer = site.xlayer().account('agent-9')
      const before = await site.balanceOf(payer)
      const { address } = site.xlayer().chain.stablecoin
      const code = firstRequestCode(site.service().baseUrl, { ...X_LAYER_USDT0, address })
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ['--input-type=module', '-e', code],
        {
          cwd: new URL('../..', import.meta.url).pathname,
          env: { ...process.env, PRIVATE_KEY: payer.privateKey, MARKET },
        },
      )
      expect(stdout).toMatch(/^200/)
      expect(stdout).toContain("outcome: 'GRADED'")
      expect(await site.balanceOf(payer)).toBe(before - 10_000n)
    })
  },
)
