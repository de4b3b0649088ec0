import type { DevnetAccount } from '@tallystick/devnet'
import { type AnswerBody, payingFetch, type RunningService } from './real-world.ts'

/** What a call was answered. */
export type Answer = { readonly status: number; readonly body: AnswerBody }

type ReadyCheck = { readonly kind: string; readonly reason?: string }

export async function readAnswer(answer: Response): Promise<Answer> {
  return { status: answer.status, body: (await answer.json()) as AnswerBody }
}

/** How a test calls one process of the service. */
export function callsOf({ baseUrl }: Pick<RunningService, 'baseUrl'>) {
  const accessUrl = (agent: string) => `${baseUrl}/api/svc/access?agent=${agent}`
  return {
    accessUrl,
    call: async (agent: string): Promise<Answer> => readAnswer(await fetch(accessUrl(agent))),
    /** With a payment that was signed before. */
    send: async (agent: string, header: string): Promise<Answer> =>
      readAnswer(await fetch(accessUrl(agent), { headers: { 'payment-signature': header } })),
    /** As the official client calls, which pays at the first 402. */
    pay: async (agent: DevnetAccount): Promise<Answer> =>
      readAnswer(await payingFetch(agent)(accessUrl(agent.evmAddress))),
    /** Signs a payment for a challenge and returns its header without sending it. */
    async signedPayment(agent: DevnetAccount, memo?: string): Promise<string> {
      let header = ''
      const recording: typeof fetch = async (input, init) => {
        const request = new Request(input, init)
        header = request.headers.get('payment-signature') ?? header
        return header === '' ? fetch(request) : new Response('{}', { status: 200 })
      }
      await payingFetch(agent, memo, recording)(accessUrl(agent.evmAddress))
      return header
    },
    isReady: async (): Promise<boolean> => (await fetch(`${baseUrl}/ready`)).status === 200,
    async readyChecks(): Promise<Readonly<Record<string, ReadyCheck>>> {
      const answer = await fetch(`${baseUrl}/ready`)
      return ((await answer.json()) as { checks: Record<string, ReadyCheck> }).checks
    },
  }
}

export type ServiceCalls = ReturnType<typeof callsOf>
