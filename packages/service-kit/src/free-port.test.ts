import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freePort, isPortFree } from './free-port.ts'

const FREE_PORT = new URL('free-port.ts', import.meta.url).href
const PROCESSES = 6
const PORTS_EACH = 60

it('ports given to several processes at once differ, though none is bound yet', async () => {
  const program = `const { freePort } = await import(process.argv[1])
    console.log((await Promise.all(Array.from({ length: ${PORTS_EACH} }, () => freePort()))).join())
    // Ends once all have theirs.
    process.stdin.resume()`
  const runs = Array.from({ length: PROCESSES }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program, FREE_PORT]),
  )
  await Promise.all(
    runs.map(({ child }) => new Promise((resolve) => child.stdout?.once('data', resolve))),
  )
  for (const { child } of runs) child.stdin?.end()
  const ports = (await Promise.all(runs)).flatMap(({ stdout }) => stdout.trim().split(','))
  expect(new Set(ports).size).toBe(PROCESSES * PORTS_EACH)
})

it('a port that something listens on is not given', async () => {
  const port = await freePort()
  const servers = Array.from({ length: 3 }, (_, at) =>
    createServer().listen(port + at, '127.0.0.1'),
  )
  await Promise.all(
    servers.map((server) => new Promise((resolve) => server.once('listening', resolve))),
  )
  expect(await isPortFree(port)).toBe(false)
  const others = await Promise.all(Array.from({ length: 70 }, () => freePort()))
  for (let at = 0; at < servers.length; at += 1) expect(others).not.toContain(port + at)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
})
