// The route over fakes, for tests of its answers.
import type { Environment } from '@tallystick/service-kit'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import {
  AGENT,
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from '../testing/fake-service.ts'

/** A test's payment; a different payment has different `nanos`. */
export const payment = { nanos: 1, validFromSeconds: START_SECONDS }

export const accessUrl = (agent: string = AGENT): string => `/api/svc/access?agent=${agent}`

/** The text in a base64 header. */
export const decoded = (header: unknown): string =>
  Buffer.from(String(header), 'base64').toString('utf8')

/** A 402's body, as far as tests read it. */
type ChallengeBody = {
  readonly accepts: readonly [
    { readonly price: { readonly amount: string }; readonly extra: { readonly feePayer: string } },
  ]
}

export type AccessRoute = {
  readonly fakes: Fakes
  inject(request: InjectOptions | string): Promise<LightMyRequestResponse>
  call(headers?: Readonly<Record<string, string>>, agent?: string): Promise<LightMyRequestResponse>
  /** The answer's body for a call without payment. */
  challenge(agent?: string): Promise<ChallengeBody>
  close(): Promise<void>
}

/** Starts a process that has read earlier processes' payments, and so sells. */
export async function startAccessRoute(
  environment: Environment = {},
  fakes: Fakes = createFakes(),
): Promise<AccessRoute> {
  const service = await startFakeService(fakes, { environment })
  await service.sweep.sweep()
  fakes.contract.reads.length = 0
  const call: AccessRoute['call'] = async (headers = {}, agent = AGENT) =>
    await service.app.inject({ url: accessUrl(agent), headers })
  return {
    fakes,
    inject: async (request) => await service.app.inject(request),
    call,
    challenge: async (agent) => (await call({}, agent)).json<ChallengeBody>(),
    close: () => service.close(),
  }
}
