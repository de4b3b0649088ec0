// The access service under attack: its processes, and agents with a known balance. An attack has failed if the ledger
// shows that no money moved and nobody was let in.
import type { DevnetAccount } from '@tallystick/devnet'
import { type Offer, PaymentForge } from '../payment-forge.ts'
import type { ReplicaStack } from '../replica-stack.ts'

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`

/** Each new agent's balance: one purchase, and most of a second. */
const FUNDS_TINYBAR = 2_000_000_000n

type Body = {
  readonly error?: string
  readonly accepts?: readonly Offer[]
  readonly resource?: { readonly url: string }
  readonly paidThisRequest?: boolean
}
type Answer = { readonly status: number; readonly body: Body; readonly headers: Headers }

export type AccessTarget = {
  readonly stack: ReplicaStack
  /** Makes payments for the offer in a challenge. */
  readonly forge: PaymentForge
  newAgent(name: string): Promise<DevnetAccount>
  /** What an agent has paid since its creation. */
  spentTinybar(agent: DevnetAccount): Promise<bigint>
  /** Calls `/access` for an agent, at the first process unless `at` names another. */
  call(agent: string, headers?: Readonly<Record<string, string>>, at?: number): Promise<Answer>
}

/** Aims at the processes of a stack. Throws if nothing is on sale. */
export async function aimAt(stack: ReplicaStack): Promise<AccessTarget> {
  const call: AccessTarget['call'] = async (agent, headers = {}, at = 0) => {
    const answer = await fetch(`${stack.baseUrls[at]}/api/svc/access?agent=${agent}`, { headers })
    return { status: answer.status, body: (await answer.json()) as Body, headers: answer.headers }
  }
  const [offer] = (await call(ZERO_ADDRESS)).body.accepts ?? []
  if (offer === undefined) throw new Error('nothing is on sale')
  return {
    stack,
    forge: new PaymentForge(offer),
    call,
    newAgent: (name) => stack.devnet.createAccount({ name, balanceTinybar: FUNDS_TINYBAR }),
    spentTinybar: async (agent) => FUNDS_TINYBAR - (await stack.balanceTinybar(agent)),
  }
}
