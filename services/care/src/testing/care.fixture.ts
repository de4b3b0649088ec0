// The complete service with in-memory stores and a hub that only remembers; for tests of the HTTP side.
import { createHmac } from 'node:crypto'
import { mintToken } from '@tallystick/jwt-lite'
import {
  type ManualClock,
  manualClock,
  requireConfig,
  type ServiceApp,
} from '@tallystick/service-kit'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { type CareConfig, careConfigSchema } from '../config.ts'
import type { CareRecord } from '../domain/care-record.ts'
import type { AuditTrail, SessionHub } from '../domain/publish-record.ts'
import type { RecordStore } from '../domain/record-store.ts'
import { createCareService } from '../service.ts'
import type { ChainSlot } from '../wire/record-uri.ts'
import type { AuditRow } from '../wire/write.ts'
import { makeStorePlace } from './store-place.fixture.ts'

const START_MS = Date.UTC(2026, 10, 21, 12)
export const WRITE_SECRET = 'write-secret-for-tests-0123456789abcdef'
export const TOKEN_SECRET = 'token-secret-for-tests-0123456789abcdef'
export const BASE_URL = 'https://care.test'
export const RESOURCE = `${BASE_URL}/mcp`
export const MODERN_RESOURCE = `${RESOURCE}/2026-07-28`

/** The smallest environment that the service starts with. */
export const testEnvironment = {
  BASE_URL,
  WRITE_SECRET,
  TOKEN_SECRET,
  AUTHORIZATION_SERVERS: '["https://issuer.test"]',
  CHECKPOINT_KEY: Buffer.alloc(32, 7).toString('base64'),
  LOG_LEVEL: 'silent',
}

/** A hub without sessions: it remembers what it was told and reports how many listened. */
type RecordingHub = SessionHub & {
  readonly published: { readonly record: CareRecord; readonly previous: CareRecord | undefined }[]
  subscribers: number
  openSessions: number
  /** Runs within each publish, before it resolves. */
  during: (record: CareRecord) => Promise<void>
}

export type CareFixture = {
  readonly app: ServiceApp
  readonly config: CareConfig
  readonly clock: ManualClock
  readonly store: RecordStore
  readonly audit: AuditTrail & { readonly rows: AuditRow[] }
  readonly hub: RecordingHub
  /** A valid token with these scopes, unless claims say otherwise. */
  token(
    scope: string,
    claims?: { sub?: string; audience?: string; lifetimeSeconds?: number },
  ): string
  /** Sends a body as a signed write. */
  write(body: unknown, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  /** Changes a stored entry behind the store's back. */
  tamper(slot: ChainSlot, version: number, change: (entry: string) => string): Promise<void>
  get(url: string, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  close(): Promise<void>
}

export const testConfig = (changes: Readonly<Record<string, string>> = {}): CareConfig =>
  requireConfig(careConfigSchema, { ...testEnvironment, ...changes })

/** Lower-case hex HMAC-SHA256 of `<timestamp>.<body>`. */
export function joinSignature(signed: {
  readonly timestamp: string
  readonly body: string | Uint8Array
  readonly secret?: string
}): string {
  return createHmac('sha256', signed.secret ?? WRITE_SECRET)
    .update(`${signed.timestamp}.`)
    .update(signed.body)
    .digest('hex')
}

/** The trail, whose rows the test can also see at once. */
function recordingAudit(audit: AuditTrail): CareFixture['audit'] {
  const rows: AuditRow[] = []
  const add = audit.add.bind(audit)
  return Object.assign(audit, {
    rows,
    add: async (row: AuditRow) => {
      rows.push(row)
      await add(row)
    },
  })
}

function recordingHub(): RecordingHub {
  return {
    published: [],
    subscribers: 0,
    openSessions: 0,
    during: async () => undefined,
    async publish(record, previous) {
      await this.during(record)
      this.published.push({ record, previous })
      return this.subscribers
    },
    async followers() {
      return this.subscribers
    },
    silent() {
      return 0
    },
    sessions() {
      return this.openSessions
    },
  }
}

export async function startCareFixture(
  options: {
    readonly environment?: Readonly<Record<string, string>>
    /** In a temporary folder, where `tamper` can reach it; otherwise in memory. */
    readonly isOnDisk?: boolean
  } = {},
): Promise<CareFixture> {
  const place = await makeStorePlace({ isOnDisk: options.isOnDisk === true })
  const config = testConfig({ ...place.environment, ...options.environment })
  const clock = manualClock(START_MS)
  const service = await createCareService({ config, clock, followsDatabase: false })
  const { app, store } = service
  const hub = Object.assign(service.hub, recordingHub())
  const audit = recordingAudit(service.audit)
  await app.ready()
  const inject = (request: InjectOptions): Promise<LightMyRequestResponse> => app.inject(request)
  return {
    app,
    config,
    clock,
    store,
    audit,
    hub,
    tamper: (slot, version, change) => place.tamper({ slot, version, change }),
    token: (scope, { sub = 'clinician-1', audience = RESOURCE, lifetimeSeconds = 3_600 } = {}) =>
      mintToken({
        sub,
        scope,
        audience,
        typ: 'care+jwt',
        key: config.TOKEN_SECRET,
        nowSeconds: clock.unixMs() / 1_000,
        lifetimeSeconds,
        jti: 'test',
      }),
    write: (body, headers = {}) => {
      const payload = typeof body === 'string' ? body : JSON.stringify(body)
      const timestamp = new Date(clock.unixMs()).toISOString()
      const signature = joinSignature({ timestamp, body: payload })
      return inject({
        method: 'POST',
        url: '/write',
        payload,
        headers: { 'x-care-signature': signature, 'x-care-timestamp': timestamp, ...headers },
      })
    },
    get: (url, headers = {}) => inject({ method: 'GET', url, headers }),
    close: async () => {
      await app.close()
      await service.close()
      await place.remove()
    },
  }
}
