import { afterEach, expect, test } from 'vitest'
import { createServiceApp } from './create-service-app.ts'
import { createLogger } from './logging.ts'
import { manualClock } from './manual-clock.ts'
import { paidServiceCors } from './request-hooks.ts'
import type { ServiceApp } from './service-app.ts'

const lines: Record<string, unknown>[] = []
let app: ServiceApp | undefined

afterEach(async () => {
  await app?.close()
  lines.length = 0
})

const build = () =>
  createServiceApp({
    name: 'tallystick-thing',
    version: '1.2.3',
    description: 'Things.',
    clock: manualClock(0),
    cors: paidServiceCors,
    logger: createLogger({
      name: 'thing',
      level: 'debug',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    }),
    routes: (scope) => {
      scope.get('/open/:id', async () => ({}))
      scope.get('/secret/:receipt', { config: { hasSecretPath: true } }, async () => ({}))
    },
  })

test('S6: a path is logged as received, a secret path as its pattern, whatever the method and the answer', async () => {
  app = await build()
  await app.inject('/open/seen')
  for (const method of ['GET', 'HEAD', 'POST'] as const)
    await app.inject({ method, url: '/secret/hunter2?and=hunter2' })
  expect(lines.map(({ method, path, status }) => ({ method, path, status }))).toEqual([
    { method: 'GET', path: '/open/seen', status: 200 },
    { method: 'GET', path: '/secret/:receipt', status: 200 },
    { method: 'HEAD', path: '/secret/:receipt', status: 405 },
    { method: 'POST', path: '/secret/:receipt', status: 405 },
  ])
  expect(JSON.stringify(lines)).not.toContain('hunter2')
})
