import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { defaultPorts } from '../../scripts/stack/ports.ts'
import { findStack, isRunning, writeStackFile } from '../../scripts/stack/stack-file.ts'
import { ended, spawnScript, spawnStack } from './spawned-stack.ts'

it('npm start leaves no process behind after Ctrl-C; what a killed one left is reported by name and process', async () => {
  const stack = await spawnStack()
  const { process: processes, access } = stack.description
  for (const pid of Object.values(processes.children)) expect(isRunning(pid)).toBe(true)
  expect(await stack.interrupt()).toBe(0)
  for (const pid of Object.values(processes.children)) expect(isRunning(pid)).toBe(false)
  await expect(fetch(`${access.baseUrl}/health`)).rejects.toThrow('fetch failed')
  expect(findStack(stack.stackFile).kind).toBe('none')

  // As a killed stack leaves it: its description stands, and of its processes one still runs.
  const children = { ...processes.children, care: process.pid }
  writeStackFile(stack.stackFile, { ...stack.description, process: { ...processes, children } })
  const next = spawnScript('scripts/start.ts', ['--free-ports', '--stack-file', stack.stackFile])
  expect(await ended(next.child)).toBe(1)
  expect(next.output()).toContain(`left care (process ${process.pid}) running`)
}, 60_000)

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
