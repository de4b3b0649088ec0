import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createServiceApp } from './create-service-app.ts'
import { createLogger } from './logging.ts'
import { manualClock } from './manual-clock.ts'
import { Registry } from './metrics.ts'
import { startOtlpReceiver } from './otlp-receiver.fixture.ts'
import { type Service, startListening, stopOrderly } from './run-service.ts'

/** Preloaded into a process, it names on stderr the modules of OpenTelemetry that are loaded. */
const NAMING_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(name, context, next) {
      if (/opentelemetry/.test(name)) console.error('loaded', name)
      return next(name, context)
    },
  })`)}`

const FIXTURE = new URL('./example-service.fixture.ts', import.meta.url).pathname

class Process {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly exit: Promise<number | null>

  constructor(environment: Record<string, string>, list: readonly string[]) {
    this.child = spawn(process.execPath, [FIXTURE, ...list], {
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        HOST: '127.0.0.1',
        PORT: '0',
        SIGNING_SECRET: 'hunter2hunter2',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk.toString()
    })
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString()
    })
    this.exit = once(this.child, 'close').then(([code]) => code as number | null)
  }

  async said(text: string): Promise<void> {
    await vi.waitUntil(() => this.stdout.includes(text), { timeout: 60_000, interval: 10 })
  }

  async url(): Promise<string> {
    await this.said('"msg":"listening"')
    const line = this.stdout.split('\n').find((text) => text.includes('"msg":"listening"'))
    return String(JSON.parse(line ?? '{}').url)
  }
}

const started: Process[] = []
const start = (environment: Record<string, string> = {}, list: readonly string[] = []): Process => {
  const process = new Process(environment, list)
  started.push(process)
  return process
}

afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.splice(0).map(({ exit }) => exit))
})

describe('S2: a port in use', () => {
  test('is reported clearly by its number, with exit 1', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    await once(holder, 'listening')
    const address = holder.address()
    const port = typeof address === 'object' ? String(address?.port) : ''
    const service = start({ PORT: port })
    expect(await service.exit).toBe(1)
    expect(service.stderr).toContain(`Port ${port} is in use on 127.0.0.1.`)
    holder.close()
  })
})

/** Writes down what it is told to do. */
const serviceThatTells = async (calls: string[]): Promise<Service> => ({
  app: await createServiceApp({
    name: 'tallystick-example',
    version: '0.0.0',
    description: 'An example.',
    clock: manualClock(0),
    cors: false,
    routes: () => undefined,
  }),
  registry: new Registry(),
  start: () => void calls.push('start'),
  stopping: () => void calls.push('stopping'),
  close: async () => void calls.push('close'),
})

describe('a service inside the caller’s process', () => {
  test('starts, listens on a free port, and stops once however often it is told', async () => {
    const calls: string[] = []
    const service = await serviceThatTells(calls)
    const { stop, url } = await startListening(service)
    expect((await fetch(`${url}/health`)).status).toBe(200)
    await Promise.all([stop(), stop()])
    expect(calls).toEqual(['start', 'stopping', 'close'])
    expect(service.app.server.listening).toBe(false)
  })

  test('is closed when it cannot listen', async () => {
    const calls: string[] = []
    const { stop, url } = await startListening(await serviceThatTells([]))
    const port = Number(new URL(url).port)
    await expect(startListening(await serviceThatTells(calls), { port })).rejects.toThrow(
      'EADDRINUSE',
    )
    expect(calls).toEqual(['start', 'close'])
    await stop()
  })
})

describe('S3: a bad configuration', () => {
  test('prints every bad variable in one message, never a value, and exits 1', async () => {
    const service = start({ PORT: 'hunter2', LOG_LEVEL: 'hunter2', SIGNING_SECRET: 'short' })
    expect(await service.exit).toBe(1)
    expect(service.stderr.split('\n').slice(0, 4)).toEqual([
      'The configuration is not usable:',
      '  PORT: expected an integer from 0 to 65535',
      '  LOG_LEVEL: expected one of silent, error, warn, info, debug, trace',
      '  SIGNING_SECRET: expected a secret of at least 8 bytes',
    ])
    expect(service.stderr + service.stdout).not.toMatch(/hunter2|short/)
  })
})

describe('runService', () => {
  test('starts background work before listening, and announces the stop before closing', async () => {
    const service = start()
    await service.url()
    service.child.kill('SIGTERM')
    expect(await service.exit).toBe(0)
    const said = service.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => String(JSON.parse(line).msg))
      .filter((message) => !message.startsWith('Server listening'))
    expect(said).toEqual(['started', 'listening', 'stopping', 'told to stop', 'flushed', 'stopped'])
  })

  test.each([
    [['--help'], 0, /^example serves until[^]*PORT=/],
    [['--version'], 0, /^example \d+\.\d+\.\d+\n$/],
    [['--port', '3000'], 2, /^example takes no arguments[^\n]*\n$/],
  ])('S11: asked with %j, says so and starts nothing', async (list, code, said) => {
    const service = start({}, list)
    expect(await service.exit).toBe(code)
    expect(service.stdout + service.stderr).toMatch(said)
  })

  test('S11: names a variable one slip away from a known one at the start and on /ready', async () => {
    const service = start({ BASE_URLS: 'http://hunter2' })
    const ready = await (await fetch(`${await service.url()}/ready`)).text()
    expect(JSON.parse(ready)).toMatchObject({
      ready: true,
      warnings: ['Nobody reads BASE_URLS; is BASE_URL meant?'],
    })
    expect(service.stdout).toContain('"variable":"BASE_URLS","meant":"BASE_URL"')
    expect(service.stdout + ready).not.toContain('hunter2')
  })

  test('S14: loads nothing of OpenTelemetry’s SDK without a collector, and hands one the last spans when it ends', async () => {
    const receiver = await startOtlpReceiver()
    const headers = 'x-api-key=hunter2%3D'
    for (const [environment, count] of [
      [{}, 0],
      [{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers }, 1],
    ] as const) {
      const service = start({ ...environment, NODE_OPTIONS: `--import=${NAMING_MODULES}` })
      expect((await fetch(`${await service.url()}/docs`)).status).toBe(200)
      service.child.kill('SIGTERM')
      expect(await service.exit).toBe(0)
      expect(service.stderr.includes('loaded @opentelemetry')).toBe(count > 0)
      expect(service.stdout).not.toContain('hunter2')
      expect(receiver.spans.map(({ name, service: from }) => [from, name])).toEqual(
        Array.from({ length: count }, () => ['example', 'GET /docs']),
      )
    }
    expect(receiver.heads[0]).toMatchObject({ 'x-api-key': 'hunter2=' })
    await receiver.close()
  })

  test('prints the operator’s sentence and exits 1 if the service cannot start', async () => {
    const service = start({ FAULT: 'refusal' })
    expect(await service.exit).toBe(1)
    expect(service.stderr).toBe('It cannot start: the store is locked\n')
  })

  test.each(['bug', 'bug-at-start'])('throws a %s with its stack', async (fault) => {
    const service = start({ FAULT: fault })
    expect(await service.exit).toBe(1)
    expect(service.stderr).toMatch(/TypeError: no such thing\n {4}at /)
  })
})

/** A service in this process, whose time stands still until the test moves it. */
async function startInProcess(onHang: () => void = () => undefined) {
  const clock = manualClock(0)
  const messages: string[] = []
  const logger = createLogger({
    name: 'example',
    level: 'warn',
    destination: { write: (line: string) => void messages.push(String(JSON.parse(line).msg)) },
  })
  const app = await createServiceApp({
    name: 'tallystick-example',
    version: '0.0.0',
    description: 'An example.',
    clock,
    cors: false,
    routes: (scope) => {
      scope.get('/hang', (_request, reply) => {
        reply.hijack()
        onHang()
      })
    },
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const close = async () => void messages.push('flushed')
  const stop = () => stopOrderly({ app, registry: new Registry(), close }, { logger, clock })
  return { address, clock, messages, stop }
}

describe('S6: stopping', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: running requests finish, stores are flushed, exit 0',
    async (signal) => {
      const service = start()
      const url = await service.url()
      const response = fetch(`${url}/slow`)
      await service.said('slow began')
      service.child.kill(signal)
      await service.said('"msg":"stopping"')
      const ask = () => fetch(`${url}/health`).then(() => 'answered', String)
      await expect.poll(ask).toBe('TypeError: fetch failed')
      expect(await (await response).json()).toEqual({ done: true })
      expect(await service.exit).toBe(0)
      expect(service.stdout).toContain('"msg":"flushed"')
      expect(service.stdout).not.toContain('hunter2')
    },
  )

  test('a request that never ends is cut off after 8 s, and stores are flushed', async () => {
    const began = Promise.withResolvers<void>()
    const { address, clock, messages, stop } = await startInProcess(began.resolve)
    const response = fetch(`${address}/hang`).catch(() => 'cut off')
    await began.promise
    const stopped = stop()
    // Two limits, and the moment for what is on the way.
    await expect.poll(() => clock.pendingCount()).toBe(3)
    clock.advanceMs(7_999)
    expect(messages).toEqual([])
    clock.advanceMs(1)
    await stopped
    expect(await response).toBe('cut off')
    expect(messages).toEqual(['requests still open were cut off', 'flushed'])
  })

  test.each([
    { title: 'new', before: '' },
    { title: 'kept', before: 'GET /health HTTP/1.1\r\nhost: x\r\n\r\n' },
  ])('requests on the way on $title connections are answered, not reset', async ({ before }) => {
    const { address, clock, messages, stop } = await startInProcess()
    const { port } = new URL(address)
    const connections = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const socket = connect(Number(port), '127.0.0.1')
        await once(socket, 'connect')
        if (before !== '') {
          socket.write(before)
          await once(socket, 'data')
        }
        let text = ''
        socket.on('data', (bytes) => (text += String(bytes)))
        const ended = once(socket, 'close').then(
          () => text,
          () => 'reset',
        )
        return { socket, ended }
      }),
    )
    const stopped = stop()
    await expect.poll(() => clock.pendingCount()).toBe(2)
    for (const { socket } of connections) socket.write('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')
    const answers = await Promise.all(connections.map(({ ended }) => ended))
    expect(answers.filter((text) => !text.startsWith('HTTP/1.1 200 '))).toEqual([])
    clock.advanceMs(100)
    await stopped
    expect(messages).toEqual(['flushed'])
  })

  test('an answer that its reader takes slowly arrives whole', async () => {
    const service = start()
    const { port } = new URL(await service.url())
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('GET /large HTTP/1.1\r\nhost: x\r\n\r\n')
    await once(socket, 'readable')
    service.child.kill('SIGTERM')
    await service.said('"msg":"told to stop"')
    let bytes = 0
    socket.on('data', (chunk) => (bytes += chunk.length))
    await once(socket, 'close')
    expect(bytes).toBeGreaterThan(20_000_000)
    expect(await service.exit).toBe(0)
  })

  test('whatever hangs is left within 10 s, and standard error says what that was', async () => {
    const clock = manualClock(0)
    const printed: string[] = []
    const service: Service = {
      ...(await serviceThatTells([])),
      close: () => Promise.withResolvers<void>().promise,
      unfinished: () => ['A thing is in doubt.'],
    }
    const stopped = stopOrderly(service, {
      logger: service.app.log,
      clock,
      printError: (text) => void printed.push(text),
    })
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(9_399)
    expect(printed).toEqual([])
    clock.advanceMs(1)
    await stopped
    expect(printed).toEqual([
      'Stopping took too long; it ended while waiting for background work and stores.\nA thing is in doubt.\n',
    ])
  })

  test('a second signal exits at once', async () => {
    const service = start()
    const response = fetch(`${await service.url()}/hang`).catch(() => 'cut off')
    await service.said('hang began')
    service.child.kill('SIGTERM')
    await service.said('"msg":"stopping"')
    service.child.kill('SIGTERM')
    // The request still hangs: an orderly end would have waited for it and exited 0.
    expect(await service.exit).toBe(130)
    await response
  })

  test('an unhandled rejection is logged and ends the process with 1', async () => {
    const service = start()
    await fetch(`${await service.url()}/reject`)
    expect(await service.exit).toBe(1)
    expect(service.stdout).toContain('nobody caught this')
    expect(service.stdout).toContain('"msg":"flushed"')
  })
})
