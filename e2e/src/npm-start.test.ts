import { statSync } from 'node:fs'
import { describe, expect, inject, it } from 'vitest'
import { ended, spawnScript } from './spawned-stack.ts'

const stack = inject('stack')

async function readStatus(url: string): Promise<number> {
  const response = await fetch(url)
  await response.body?.cancel()
  return response.status
}

describe('npm start', () => {
  it('starts the ledger, the facilitator and every service that exists', async () => {
    const { access, facilitator, ledger } = stack.description
    expect(await readStatus(`${access.baseUrl}/ready`)).toBe(200)
    expect(await readStatus(`${facilitator.url}/supported`)).toBe(200)
    expect(await readStatus(`${ledger.mirrorUrl}/api/v1/accounts/${access.payTo}`)).toBe(200)
  })

  it('writes its description for scripts and agents with mode 0600', () => {
    expect(statSync(stack.stackFile).mode & 0o777).toBe(0o600)
  })

  it('funds at least five agents, with ECDSA keys in hex', async () => {
    const { agents, ledger } = stack.description
    expect(agents.length).toBeGreaterThanOrEqual(5)
    for (const agent of agents) {
      expect(agent.privateKey).toMatch(/^0x[0-9a-f]{64}$/)
      const answer = await fetch(`${ledger.mirrorUrl}/api/v1/accounts/${agent.accountId}`)
      const account = (await answer.json()) as {
        evm_address: string
        balance: { balance: number }
        key: { _type: string }
      }
      expect(account.evm_address).toBe(agent.evmAddress.toLowerCase())
      expect(account.key._type).toBe('ECDSA_SECP256K1')
      expect(account.balance.balance).toBeGreaterThan(100e8)
    }
  })

  it('funds its agents on both ledgers', async () => {
    const { agents, xlayer } = stack.description
    for (const { evmAddress } of agents) {
      const data = `0x70a08231${evmAddress.slice(2).padStart(64, '0')}` // balanceOf(address)
      const answer = await fetch(xlayer.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'eth_call',
          params: [{ to: xlayer.stablecoin, data }, 'latest'],
        }),
      })
      const { result } = (await answer.json()) as { result: string }
      expect(BigInt(result)).toBeGreaterThanOrEqual(1_000_000n) // a dollar
    }
  })

  it('prints base URLs and one request to copy, for people and not as JSON', () => {
    const { output } = stack
    expect(output).toContain(stack.description.access.baseUrl)
    expect(output).toContain(`curl -i '${stack.description.access.baseUrl}/api/svc/access?agent=0x`)
    expect(output).not.toMatch(/^\s*[{[]/m)
  })

  it('names a stack that is already running', async () => {
    const second = spawnScript('scripts/start.ts', ['--stack-file', stack.stackFile])
    expect(await ended(second.child)).toBe(1)
    expect(second.output()).toContain('already running')
    expect(second.output()).toContain(stack.description.access.baseUrl)
  })
})
