// The complete service as it runs, on its own port and files, in this process; for tests that need a real socket, a real
// disk or a real MCP session.
import { mintToken } from '@tallystick/jwt-lite'
import { startListening, systemClock } from '@tallystick/service-kit'
import { sendSignedWrite } from '../seed/seed-records.ts'
import { type CareService, createCareService } from '../service.ts'
import { RESOURCE, testConfig, WRITE_SECRET } from './care.fixture.ts'
import { makeStorePlace, type StorePlace } from './store-place.fixture.ts'

export type RunningCare = {
  readonly service: CareService
  /** Where it listens; `BASE_URL`, and with it the tokens' audience, stays `https://care.test`. */
  readonly url: string
  readonly place: StorePlace
  token(
    scope: string,
    claims?: { readonly sub?: string; readonly audience?: string; readonly jti?: string },
  ): string
  write(body: Readonly<Record<string, string | number>>): Promise<Response>
  /** Stops it and keeps the files, so that another can be started on them. */
  stop(): Promise<void>
  /** Stops it and removes its files. */
  remove(): Promise<void>
}

type RunningCareOptions = {
  readonly environment?: Readonly<Record<string, string>>
  /** From an earlier one that was stopped. */
  readonly place?: StorePlace
}

/** Starts the service on a free loopback port. */
export async function startRunningCare(options: RunningCareOptions = {}): Promise<RunningCare> {
  const place = options.place ?? (await makeStorePlace({ isOnDisk: true }))
  const config = testConfig({ ...options.environment, ...place.environment })
  const service = await createCareService({ config, clock: systemClock, environment: process.env })
  const { url, stop } = await startListening(service)
  return {
    service,
    url,
    place,
    token: (scope, { sub = 'host-1', audience = RESOURCE, jti = crypto.randomUUID() } = {}) =>
      mintToken({
        sub,
        scope,
        audience,
        typ: 'care+jwt',
        key: config.TOKEN_SECRET,
        nowSeconds: systemClock.unixMs() / 1_000,
        jti,
      }),
    write: (body) =>
      sendSignedWrite({
        baseUrl: url,
        serviceName: config.SERVICE_NAME,
        writeSecret: WRITE_SECRET,
        body,
        unixMs: systemClock.unixMs(),
      }),
    stop,
    async remove() {
      await stop()
      await place.remove()
    },
  }
}
