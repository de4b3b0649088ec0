import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createServiceApp } from './create-service-app.ts'
import { errorBody } from './error-answer.ts'
import { manualClock } from './manual-clock.ts'
import type { ServiceApp } from './service-app.ts'

const open: ServiceApp[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((app) => app.close()))
})

type Responses = Readonly<Record<string, { readonly description: string }>>

const thing = {
  name: 'tallystick-thing',
  version: '1.2.3',
  description: 'Things.',
  clock: manualClock(0),
  cors: false,
} as const

async function readResponses(routes: (app: ServiceApp) => void) {
  const app = await createServiceApp({ ...thing, routes })
  open.push(app)
  const { paths } = (await app.inject('/openapi.json')).json()
  return (path: string, method: string): Responses => paths[path][method].responses
}

test('S4: a body is required in the reference, unless a call without one is a good one', async () => {
  const schema = { body: z.object({}), response: { 200: z.object({}) } }
  const app = await createServiceApp({
    ...thing,
    routes: (added) => {
      added.post('/needed', { schema }, async () => ({}))
      added.post('/optional', { schema, config: { takesNoBody: true } }, async () => ({}))
    },
  })
  open.push(app)
  const { paths } = (await app.inject('/openapi.json')).json()
  expect(paths['/needed'].post.requestBody.required).toBe(true)
  expect(paths['/optional'].post.requestBody.required).toBe(false)
  expect(Object.keys(paths['/optional'].post).filter((name) => name.startsWith('x-'))).toEqual([])
})

test('S4: the reference lists every status that the kit itself may answer on a route', async () => {
  const body = z.object({ a: z.string() })
  const response = { 200: z.object({}), 503: errorBody.describe('The store is down.') }
  const responses = await readResponses((app) => {
    app.get('/things/:id', { schema: { response } }, async () => ({}))
    app.post('/things', { schema: { body, response } }, async () => ({}))
    const config = { takesOverBody: true }
    app.post('/raw', { config, schema: { body, response } }, async () => ({}))
  })
  const anywhere = ['200', '400', '408', '417', '431', '503']
  expect(Object.keys(responses('/things/{id}', 'get'))).toEqual([...anywhere, '414'].toSorted())
  expect(Object.keys(responses('/things', 'post'))).toEqual([...anywhere, '413', '415'].toSorted())
  expect(Object.keys(responses('/raw', 'post'))).toEqual(anywhere)
  expect(Object.keys(responses('/health', 'get'))).toEqual(anywhere)
})

test('a route’s own description of a status stays', async () => {
  const response = { 200: z.object({}), 503: errorBody.describe('The store is down.') }
  const responses = await readResponses((app) => {
    app.get('/thing', { schema: { response } }, async () => ({}))
  })
  expect(responses('/thing', 'get')['503']?.description).toBe('The store is down.')
  expect(responses('/thing', 'get')['408']?.description).toContain('did not arrive completely')
})

test('a hidden route stays hidden', async () => {
  const responses = await readResponses((app) => {
    app.get('/hidden', { schema: { hide: true } }, async () => ({}))
  })
  expect(() => responses('/hidden', 'get')).toThrow(TypeError)
})
