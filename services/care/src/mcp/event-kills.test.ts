// C22 as a model: a real service that is killed again and again, and receivers that fail, hang, redirect and lie. Whatever
// write was acknowledged reaches every subscription that may know of it, for the first time in the order of the writes, and
// nobody else hears of it. 10^5 deliveries with TALLYSTICK_LONG=1.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { mintToken, parseTokenKeys } from '@tallystick/jwt-lite'
import { afterAll, expect, test } from 'vitest'
import { sendSignedWrite } from '../seed/seed-records.ts'
import { testEnvironment, WRITE_SECRET } from '../testing/care.fixture.ts'
import {
  EVENTS_AUDIENCE,
  EVENTS_ENVIRONMENT,
  eventHost,
  startReceiver,
} from '../testing/event-receiver.fixture.ts'

const IS_LONG = process.env['TALLYSTICK_LONG'] === '1'
/** Subscriptions that hear of everything, beside those that hear of a part or of nothing. */
const HOSTS = IS_LONG ? 40 : 6
const WRITES = IS_LONG ? 3_000 : 50
const KILLS = IS_LONG ? 40 : 4
/** Of a hundred deliveries, how many go wrong in some way. */
const WRONG_PERCENT = IS_LONG ? 2 : 10

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'care-events-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function startService() {
  const child = spawn(process.execPath, [main], {
    env: {
      ...testEnvironment,
      ...EVENTS_ENVIRONMENT,
      PATH: process.env['PATH'] ?? '',
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'info',
      DATABASE_PATH: join(folder, 'care.db'),
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const listening = Promise.withResolvers<string>()
  child.stdout.on('data', (text) => {
    const url = /"url":"([^"]+)","msg":"listening"/.exec(String(text))?.[1]
    if (url !== undefined) listening.resolve(url)
  })
  const ended = once(child, 'close')
  const url = await listening.promise
  return {
    url,
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const keys = parseTokenKeys(testEnvironment.TOKEN_SECRET)
const tokenOf = (scope: string, sub: string): string => {
  if (keys.kind !== 'keys') throw new Error('no keys')
  return mintToken({
    sub,
    scope,
    audience: EVENTS_AUDIENCE,
    typ: 'care+jwt',
    key: keys.keys,
    nowSeconds: Date.now() / 1_000,
    lifetimeSeconds: 86_400,
    jti: sub,
  })
}

/** What a subscription heard for the first time, in order. */
const firstOf = (uris: readonly string[]): readonly string[] => [...new Set(uris)]

test(
  `C22: ${HOSTS * WRITES} deliveries across ${KILLS} kills: none lost, none to somebody without the right, none out of order`,
  async () => {
    const receiver = await startReceiver()
    let service = await startService()
    let random = 1
    const draw = (below: number): number => {
      random = (random * 48_271) % 2_147_483_647
      return random % below
    }
    let isHonest = false
    let hangs = IS_LONG ? HOSTS : 1
    receiver.answer = ({ path }) => {
      // One at a time: what is behind it waits until it is given up.
      if (!isHonest && hangs > 0 && path.startsWith(`/host-${hangs - 1}/`)) {
        hangs -= 1
        return 'hang'
      }
      if (isHonest || draw(100) >= WRONG_PERCENT) return 204
      // Each of them has it by then, and says that it has not.
      return [503, 500, 302, 404, 429, 503][draw(6)] ?? 503
    }
    const subscribers = [
      ...Array.from({ length: HOSTS }, (_, at) => ['care.read.user', `host-${at}`] as const),
      ['care.read.user care.read.assistant', 'team'] as const,
      ['care.read.user:ann', 'household'] as const,
      ['care.read.assistant:bob', 'colleague'] as const,
    ]
    const subscribeAll = async (): Promise<void> => {
      for (const [scope, sub] of subscribers)
        for (const patient of ['ann', 'bob'])
          await eventHost(service, tokenOf(scope, sub)).subscribe(
            `${receiver.url}/${sub}/${patient}`,
            {
              arguments: { patient },
            },
          )
    }
    await subscribeAll()
    const acknowledged: string[] = []
    const killAt = new Set(
      Array.from({ length: KILLS }, (_, at) => Math.floor(((at + 0.5) * WRITES) / KILLS)),
    )
    for (let at = 0; at < WRITES; at += 1) {
      const patient = at % 5 === 4 ? 'bob' : 'ann'
      const audience = at % 7 === 6 ? 'assistant' : 'user'
      const domain = `${audience}-${at % 3}`
      const body = { patient, domain, audience, value: `secret sentence ${at}`, authorId: 'dr' }
      const unixMs = Date.now()
      const written = sendSignedWrite({
        baseUrl: service.url,
        serviceName: 'care',
        writeSecret: WRITE_SECRET,
        body,
        unixMs,
      })
        .then(async (answer) => (await answer.json()) as { uri: string; version: number })
        .catch(() => undefined)
      if (killAt.has(at)) {
        await pause(draw(8))
        await service.kill()
      }
      const outcome = await written
      if (outcome?.version !== undefined) acknowledged.push(`${outcome.uri}/${outcome.version}`)
      if (killAt.has(at)) service = await startService()
    }
    isHonest = true
    const heardBy = (sub: string): readonly string[] =>
      receiver.got
        .filter(({ path }) => path.startsWith(`/${sub}/`))
        .map(({ event }) => event.data.uri)
    const rightsOf: Readonly<Record<string, (uri: string) => boolean>> = {
      team: () => true,
      household: (uri) => uri.startsWith('care://ann/'),
      colleague: (uri) => uri.startsWith('care-internal://bob/'),
    }
    const mayHear = (sub: string, uri: string): boolean =>
      rightsOf[sub]?.(uri) ?? uri.startsWith('care://')
    // What failed last is tried again within ten minutes; a refresh asks at once.
    await subscribeAll()
    const isComplete = (): boolean =>
      subscribers.every(([, sub]) => {
        const heard = new Set(heardBy(sub))
        return acknowledged.every((uri) => heard.has(uri) || !mayHear(sub, uri))
      })
    await expect.poll(isComplete, { timeout: IS_LONG ? 600_000 : 30_000, interval: 200 }).toBe(true)
    for (const [, sub] of subscribers)
      for (const patient of ['ann', 'bob']) {
        const first = firstOf(heardBy(sub).filter((uri) => uri.includes(`//${patient}/`)))
        expect(first.filter((uri) => !mayHear(sub, uri))).toEqual([])
        const expected = acknowledged.filter(
          (uri) => uri.includes(`//${patient}/`) && mayHear(sub, uri),
        )
        const kept = new Set(acknowledged)
        expect(first.filter((uri) => kept.has(uri))).toEqual(expected)
      }
    expect(receiver.got.length).toBeGreaterThan(HOSTS * WRITES * 0.7)
    expect(receiver.got.some(({ body }) => body.includes('secret'))).toBe(false)
    const ids = new Map<string, Set<string>>()
    for (const { event } of receiver.got)
      ids.set(event.data.uri, (ids.get(event.data.uri) ?? new Set()).add(event.eventId))
    expect([...ids.values()].every((one) => one.size === 1)).toBe(true)
    await service.kill()
    receiver.close()
  },
  IS_LONG ? 3_600_000 : 120_000,
)
