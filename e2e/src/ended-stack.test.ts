import { createServer } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { defaultPorts } from '../../scripts/stack/ports.ts'
import { findStack, isRunning } from '../../scripts/stack/stack-file.ts'
import { eventually } from './eventually.ts'
import { ended, type SpawnedStack, spawnScript, spawnStack } from './spawned-stack.ts'

let leftovers: readonly number[] = []

afterEach(async () => {
  for (const pid of leftovers) if (isRunning(pid)) process.kill(pid)
  await eventually(() => leftovers.every((pid) => !isRunning(pid)))
})

async function startAgain({ stackFile }: SpawnedStack) {
  const second = spawnScript('scripts/start.ts', ['--free-ports', '--stack-file', stackFile])
  return { code: await ended(second.child), output: second.output() }
}

it('npm start leaves no process behind after Ctrl-C', async () => {
  const stack = await spawnStack()
  const { process: processes, access } = stack.description
  expect(await stack.interrupt()).toBe(0)
  for (const pid of Object.values(processes.children)) expect(isRunning(pid)).toBe(false)
  await expect(fetch(`${access.baseUrl}/health`)).rejects.toThrow('fetch failed')
  expect(findStack(stack.stackFile).kind).toBe('none')
})

it('what a killed stack left running is reported by name and process', async () => {
  const stack = await spawnStack()
  const { children } = stack.description.process
  leftovers = Object.values(children)
  stack.child.kill('SIGKILL')
  await ended(stack.child)
  const { code, output } = await startAgain(stack)
  expect(code).toBe(1)
  for (const [name, pid] of Object.entries(children)) {
    expect(output).toContain(`${name} (process ${pid})`)
  }
})

it('a port in use is named clearly', async () => {
  const server = createServer()
  const isListening = await new Promise<boolean>((resolve) => {
    server
      .once('error', () => resolve(false))
      .listen(defaultPorts.rpc, '127.0.0.1', () => resolve(true))
  })
  const start = spawnScript('scripts/start.ts', ['--stack-file', '/nonexistent/stack.json'])
  expect(await ended(start.child)).toBe(1)
  expect(start.output()).toContain(`rpc ${defaultPorts.rpc}`)
  // if the developer's own stack already holds the port, that stack is named
  if (isListening) await new Promise((resolve) => server.close(resolve))
})
