import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { agentSigner, createAccessAgent, systemClock } from '@tallystick/agent'
import type { StackDescription } from '../../../scripts/stack/stack-file.ts'
import { fault, note, type SoakCaller } from './soak-load.ts'

/** Above the price of a purchase on the local ledger, 12 HBAR. */
const MAX_PAYMENT_TINYBAR = 2_000_000_000n
const PAID_PAUSE_MS = 400
const FREE_PAUSE_MS = 50

function stranger(): string {
  return `0x${randomBytes(20).toString('hex')}`
}

/** Agents that stay in, one that reads, and strangers who only look at the challenge. */
export function accessCallers({ access, agents }: StackDescription): readonly SoakCaller[] {
  const paying = agents.map(({ name, privateKey, accountId }): SoakCaller => {
    const signer = agentSigner({ accountId, privateKey })
    const agent = createAccessAgent({
      baseUrl: access.baseUrl,
      serviceName: 'svc',
      signer,
      clock: systemClock,
      maxPaymentTinybar: MAX_PAYMENT_TINYBAR,
    })
    return {
      name: `access ${name}`,
      pauseMs: PAID_PAUSE_MS,
      async act(account) {
        const outcome = await agent.access()
        const kind = `access ${outcome.kind}`
        account.answers.set(kind, (account.answers.get(kind) ?? 0) + 1)
        if (!EXPECTED.has(outcome.kind)) fault(account, kind, inspect(outcome))
      },
    }
  })
  const get = (call: string, path: () => string, expected: readonly number[]): SoakCaller => ({
    name: call,
    pauseMs: FREE_PAUSE_MS,
    async act(account) {
      const answer = await fetch(access.baseUrl + path())
      await answer.arrayBuffer()
      note(account, { call, status: answer.status, expected })
    },
  })
  const known = agents[0]?.evmAddress ?? ''
  return [
    ...paying,
    get('status', () => `/api/svc/status?agent=${known}`, [200]),
    get('challenge', () => `/api/svc/access?agent=${stranger()}`, [402]),
    get('bad agent', () => '/api/svc/access?agent=nobody', [400]),
  ]
}

const EXPECTED: ReadonlySet<string> = new Set(['granted', 'quota-spent'])
