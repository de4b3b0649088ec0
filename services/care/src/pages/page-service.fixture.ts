/**
 * The complete service on a free port behind a network that can be cut, for tests of the pages in a browser: stores on
 * disk, sessions, speech, tokens and time are real.
 */
import { randomBytes } from 'node:crypto'
import { mintToken } from '@tallystick/jwt-lite'
import { type ListeningService, startListening, systemClock } from '@tallystick/service-kit'
import type { CareConfig } from '../config.ts'
import { createCareService } from '../service.ts'
import { joinSignature, RESOURCE, testConfig, WRITE_SECRET } from '../testing/care.fixture.ts'
import { type CutProxy, openCutProxy } from '../testing/cut-proxy.ts'
import { makeStorePlace, type StorePlace } from '../testing/store-place.fixture.ts'
import type { WriteAnswer } from '../wire/write.ts'

export type PageService = {
  /** Where a browser finds the service, without a trailing slash. */
  readonly url: string
  readonly writeSecret: string
  readonly network: Pick<CutProxy, 'cut' | 'mend'>
  readonly place: StorePlace
  /** For the echo page; a negative lifetime gives an expired token. */
  token(scope: string, lifetimeSeconds?: number, sub?: string): string
  /** A signed write that bypasses the pages and their network. */
  write(fields: object): Promise<WriteAnswer>
  /**
   * Stops the service and starts it again, that much later by its clock; without its sessions' file it has forgotten every
   * session.
   */
  restart(options: { readonly keepsSessions: boolean; readonly laterMs?: number }): Promise<void>
  /** Moves the running service's clock ahead of this machine's. */
  passTime(ms: number): void
  close(): Promise<void>
}

type PageServiceOptions = {
  /** False for a machine without a speech program. */
  readonly hasVoice: boolean
  /** Further variables of the service. */
  readonly environment?: Readonly<Record<string, string>>
}

function issueToken(
  config: CareConfig,
  { scope, lifetimeSeconds, sub }: { scope: string; lifetimeSeconds: number; sub: string },
): string {
  // An expired token was minted its lifetime plus an hour ago.
  const ageSeconds = lifetimeSeconds > 0 ? 0 : 3_600 - lifetimeSeconds
  return mintToken({
    sub,
    scope,
    audience: RESOURCE,
    typ: 'care+jwt',
    key: config.TOKEN_SECRET,
    nowSeconds: systemClock.unixMs() / 1_000 - ageSeconds,
    lifetimeSeconds: Math.abs(lifetimeSeconds),
    jti: randomBytes(8).toString('hex'),
  })
}

async function sendSigned(port: number, fields: object): Promise<WriteAnswer> {
  const body = JSON.stringify(fields)
  const timestamp = new Date(systemClock.unixMs()).toISOString()
  const answer = await fetch(`http://127.0.0.1:${port}/write`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-care-timestamp': timestamp,
      'x-care-signature': joinSignature({ timestamp, body }),
    },
    body,
  })
  if (!answer.ok) throw new Error(`The write was answered ${answer.status}.`)
  return (await answer.json()) as WriteAnswer
}

/** Starts the service with empty stores. */
export async function startPageService(input: PageServiceOptions): Promise<PageService> {
  let aheadMs = 0
  const passTime = (ms: number): void => {
    aheadMs += ms
  }
  const clock = { ...systemClock, unixMs: () => systemClock.unixMs() + aheadMs }
  const place = await makeStorePlace({ isOnDisk: true })
  const config = testConfig({ ...place.environment, LANGUAGE: 'en', ...input.environment })
  const serve = async (port: number): Promise<ListeningService> => {
    const environment = input.hasVoice ? process.env : {}
    return startListening(
      await createCareService({ config, clock, environment, followsDatabase: false }),
      { port },
    )
  }
  let served = await serve(0)
  const port = Number(new URL(served.url).port)
  const network = await openCutProxy(port)
  return {
    url: `http://127.0.0.1:${network.port}`,
    writeSecret: WRITE_SECRET,
    network,
    place,
    token: (scope, lifetimeSeconds = 3_600, sub = 'device-1') =>
      issueToken(config, { scope, lifetimeSeconds, sub }),
    write: (fields) => sendSigned(port, fields),
    passTime,
    async restart({ keepsSessions, laterMs = 0 }) {
      await served.stop()
      passTime(laterMs)
      if (!keepsSessions) await place.forgetSessions()
      served = await serve(port)
    },
    async close() {
      await network.close()
      await served.stop()
      await place.remove()
    },
  }
}
