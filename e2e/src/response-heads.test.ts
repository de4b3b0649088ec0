/**
 * S10: a default nginx reads the head of an answer into 4,096 bytes and turns a longer one into 502. Every operation of every
 * service is asked through a real one with no setting changed, each service under a BASE_URL of 100 characters.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLocalStack } from '../../scripts/stack/local-stack.ts'
import { freePorts } from '../../scripts/stack/ports.ts'
import type { StackDescription } from '../../scripts/stack/stack-file.ts'
import { nginxMissing, startNginx } from '../../services/care/src/testing/nginx.fixture.ts'
import { payForAccess, payForGrade } from './pay-on-stack.ts'

/** With room below the 4,096 of nginx for what other proxies add. */
const HEAD_BYTES_MAX = 3_500
const BASE_URL = `https://${'a'.repeat(60)}.${'b'.repeat(23)}.example`
const SERVICES = ['facilitator', 'access', 'care', 'issuer', 'grading'] as const
type Service = (typeof SERVICES)[number]
const AGENT = `0x${'ab'.repeat(20)}`

const ports = await freePorts()
const folder = mkdtempSync(join(tmpdir(), 'tallystick-heads-'))
const stack = createLocalStack({
  ports,
  logFolder: join(folder, 'logs'),
  dataFolder: join(folder, 'data'),
  isWatching: false,
  hasSignIn: true,
  settings: { BASE_URL },
  onStep: () => undefined,
})
let nginx: Awaited<ReturnType<typeof startNginx>>
let description: StackDescription
beforeAll(async () => {
  if (nginxMissing !== undefined) return
  description = await stack.start()
  nginx = await startNginx(
    SERVICES.map((service) => ports[service]),
    '',
  )
})
afterAll(async () => {
  await nginx?.close()
  await stack.stop()
  rmSync(folder, { recursive: true, force: true })
})

const direct = (service: Service): string => `http://127.0.0.1:${ports[service]}`
const behind = (service: Service): string =>
  `http://127.0.0.1:${nginx.ports[SERVICES.indexOf(service)]}`

/** Status line and headers as they were sent. */
function headBytes({ headers, status, statusText }: Response): number {
  const lines = [`HTTP/1.1 ${status} ${statusText}`, ...[...headers].map((pair) => pair.join(': '))]
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 2, 2)
}

type Call = { readonly method: string; readonly path: string }

/** Every operation of the reference, what all services serve besides, and what none serves. */
async function listCalls(service: Service): Promise<readonly Call[]> {
  const reference = (await (await fetch(`${direct(service)}/openapi.json`)).json()) as {
    paths: Record<string, object>
  }
  const operations = Object.entries(reference.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => ({
      method: method.toUpperCase(),
      path: `${path.replace(/\{[^}]+\}/g, '1')}?agent=${AGENT}`,
    })),
  )
  const others = ['/', '/docs', '/llms.txt', '/openapi.json', '/nowhere', '/%zz']
  return [
    ...operations,
    ...others.map((path) => ({ method: 'GET', path })),
    ...operations.map(({ path }) => ({ method: 'OPTIONS', path })),
    { method: 'DELETE', path: '/health' },
  ]
}

const REQUEST_HEADERS = {
  origin: BASE_URL,
  'access-control-request-method': 'POST',
  'access-control-request-headers': Array.from({ length: 60 }, (_, at) => `x-header-${at}`).join(),
}

async function ask(url: string, method: string): Promise<Response> {
  const stop = new AbortController()
  const headers = REQUEST_HEADERS
  const answer = await fetch(url, { method, headers, redirect: 'manual', signal: stop.signal })
  // A stream never ends; only its head counts.
  stop.abort()
  return answer
}

describe.skipIf(nginxMissing !== undefined)(
  `S10: behind a default nginx, with a BASE_URL of 100 characters ${nginxMissing ?? ''}`,
  () => {
    it.each(SERVICES)('the head of every answer of %s is short enough', async (service) => {
      expect(BASE_URL).toHaveLength(100)
      const calls = await listCalls(service)
      expect(calls.length).toBeGreaterThan(10)
      const tooLong: unknown[] = []
      for (const { method, path } of calls) {
        const answer = await ask(direct(service) + path, method)
        const proxied = await ask(behind(service) + path, method)
        const bytes = headBytes(answer)
        if (bytes >= HEAD_BYTES_MAX || (proxied.status === 502 && answer.status !== 502))
          tooLong.push({ method, path, status: answer.status, bytes, proxied: proxied.status })
      }
      expect(tooLong).toEqual([])
    })

    it('so is that of a paid answer with its receipts', async () => {
      const agent = description.agents[0]
      if (agent === undefined) throw new Error('no agent')
      const heads: number[] = []
      const request = async (...words: Parameters<typeof fetch>): Promise<Response> => {
        const answer = await fetch(...words)
        heads.push(headBytes(answer))
        return answer
      }
      const bought = await payForAccess(agent, { baseUrl: behind('access'), request })
      expect(bought.status, await bought.text()).toBe(200)
      expect(bought.headers.get('payment-response')).not.toBeNull()
      const graded = await payForGrade(agent, { baseUrl: behind('grading'), request }, description)
      expect(graded.status, await graded.text()).toBe(200)
      expect(graded.headers.get('payment-response')).not.toBeNull()
      expect(heads.filter((bytes) => bytes >= HEAD_BYTES_MAX)).toEqual([])
    })
  },
)
