/** What the service serves besides its two routes (S4, S5, S9), and that the documentation says what it does. */
import type { ServiceApp } from '@tallystick/service-kit'
import { testErrors } from '@tallystick/service-kit/service-contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { credit, creditFor } from './domain/pay-to-credit.fixture.ts'
import { accessErrors } from './errors.ts'
import { openWindow } from './testing/fake-contract.ts'
import {
  AGENT,
  createFakes,
  type Fakes,
  START_SECONDS,
  startFakeService,
} from './testing/fake-service.ts'

/** What the kit documents on every operation, and these routes do not name themselves. */
const KIT_STATUSES = new Set(['408', '417', '431'])

const accessUrl = `/api/svc/access?agent=${AGENT}`

let fakes: Fakes
let service: Awaited<ReturnType<typeof startFakeService>>
let app: ServiceApp

beforeEach(async () => {
  fakes = createFakes()
  service = await startFakeService(fakes, {
    environment: { METRICS_TOKEN: 'a token of 24 characters' },
  })
  app = service.app
})
afterEach(() => service.close())

describe('S4', () => {
  test('GET / shows what this is, live figures and a whole client with its setSpendControls line (X13)', async () => {
    fakes.contract.windows.set(AGENT, openWindow(START_SECONDS + 15))
    expect((await app.inject(accessUrl)).statusCode).toBe(200)
    const page = (await app.inject('/')).body
    expect(page).toContain('12 HBAR')
    expect(page).toContain('4 periods of 20 s')
    expect(page).toContain('<dt>Calls served since start</dt><dd>1</dd>')
    expect(page).toContain('setSpendControls')
    expect(page).toContain('maxAmountPerPayment: &#39;1200000000&#39;')
    expect(page).toContain('https://access.example/api/svc/access')
  })

  test('GET / goes on while the ledger is down', async () => {
    fakes.contract.isDown = true
    const page = await app.inject('/')
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('could not be read')
  })

  test('/metrics asks for its token, and names no agent', async () => {
    expect((await app.inject('/metrics')).statusCode).toBe(401)
    const headers = { authorization: 'Bearer a token of 24 characters' }
    const metrics = async () => (await app.inject({ url: '/metrics', headers })).body
    expect(await metrics()).toMatch(/access_sweep_age_seconds nan/i)
    fakes.log.credits.push(creditFor(AGENT, 3), credit({ ageSeconds: 2 }))
    await service.sweep.sweep()
    fakes.figures = { ...fakes.figures, unreceiptedCalls: 3 }
    const body = await metrics()
    expect(body).toContain('access_windows_opened_total{by="sweep",kind="opened"} 1')
    expect(body).toContain('access_usage_unreceipted_calls 3')
    expect(body).toContain('access_sweep_unresolved 1')
    expect(body).toContain('access_sweep_age_seconds -1')
    expect(body).toContain('access_renewals_reserve_can_arm 7')
    expect(body).not.toContain('00aa')
  })

  test('/openapi.json is 3.1 and has every status of both routes', async () => {
    const { openapi, paths } = (await app.inject('/openapi.json')).json()
    expect(openapi).toBe('3.1.0')
    const own = (path: string) =>
      Object.keys(paths[path].get.responses).filter((status) => !KIT_STATUSES.has(status))
    expect(own('/api/svc/access')).toEqual(['200', '400', '402', '429', '502', '503'])
    expect(own('/api/svc/status')).toEqual(['200', '400', '502', '503'])
  })

  test('/openapi.json is the interface 1.0.10, and declares the header of the challenge', async () => {
    const { info, paths } = (await app.inject('/openapi.json')).json()
    expect(info.version).toBe('1.0.10')
    const { headers } = paths['/api/svc/access'].get.responses['402']
    expect(headers['PAYMENT-REQUIRED']).toMatchObject({ schema: { type: 'string' } })
    expect(JSON.stringify(paths)).not.toContain('"headers":{"type"')
  })

  test('/llms.txt says how to get in', async () => {
    expect((await app.inject('/llms.txt')).body).toContain('PAYMENT-SIGNATURE')
  })
})

describe('S9', () => {
  test('a preflight is answered before any gate, and the payment headers may be sent and read', async () => {
    const answer = await app.inject({
      method: 'OPTIONS',
      url: '/api/svc/access',
      headers: {
        origin: 'https://agent.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'payment-signature,access-control-expose-headers',
      },
    })
    expect(answer.statusCode).toBe(204)
    const allowed = String(answer.headers['access-control-allow-headers'])
    expect(allowed).toMatch(/PAYMENT-SIGNATURE.*SIGN-IN-WITH-X.*authorization/i)
    expect(fakes.contract.reads).toEqual([])
    const challenged = await app.inject({
      url: '/api/svc/access?agent=x',
      headers: { origin: 'https://agent.example' },
    })
    const exposed = String(challenged.headers['access-control-expose-headers'])
    expect(exposed).toMatch(/PAYMENT-REQUIRED.*ACCESS-TOKEN/i)
  })
})

testErrors(accessErrors, new URL('../README.md', import.meta.url))
