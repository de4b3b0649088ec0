import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { isRunning } from '@tallystick/service-kit/stack-environment'
import { afterEach, expect, it } from 'vitest'
import { defaultPorts } from '../../scripts/stack/ports.ts'
import { findStack, writeStackFile } from '../../scripts/stack/stack-file.ts'
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

async function stop({ stackFile }: SpawnedStack) {
  const { child, output } = spawnScript('scripts/stop.ts', ['--stack-file', stackFile])
  return { code: await ended(child), output: output() }
}

it('npm start leaves no process behind after Ctrl-C, and npm stop ends no stranger who gets the number of one', async () => {
  const stack = await spawnStack()
  const { process: processes, access } = stack.description
  expect(await stack.interrupt()).toBe(0)
  for (const pid of Object.values(processes.children)) expect(isRunning(pid)).toBe(false)
  await expect(fetch(`${access.baseUrl}/health`)).rejects.toThrow('fetch failed')
  expect(findStack(stack.stackFile).kind).toBe('none')
  const stranger = spawn('sleep', ['60'])
  const children = { care: stranger.pid ?? 0 }
  writeStackFile(stack.stackFile, { ...stack.description, process: { ...processes, children } })
  expect(await stop(stack)).toEqual({ code: 0, output: '' })
  expect(stranger.kill('SIGKILL')).toBe(true)
})

it('npm stop ends the running stack, and there is none to end afterwards', async () => {
  const stack = await spawnStack()
  const { children } = stack.description.process
  expect(await stop(stack)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^Ended: stack/),
  })
  for (const pid of Object.values(children)) expect(isRunning(pid)).toBe(false)
  expect(await stop(stack)).toEqual({ code: 0, output: 'No stack is running.\n' })
})

it('what a killed stack left running is reported by name and process, and npm stop ends it', async () => {
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
  expect(await stop(stack)).toMatchObject({ code: 0 })
  for (const pid of leftovers) expect(isRunning(pid)).toBe(false)
  expect(findStack(stack.stackFile).kind).toBe('none')
})

it.each([
  ['start', '--free-port', '--free-ports'],
  ['stop', '--stackfile', '--stack-file'],
  ['demo', '--stak', '--stack'],
])(
  'S11: npm %s says its flags on --help, its version, and which flag was meant by %s',
  async (name, flag, meant) => {
    const help = spawnScript(`scripts/${name}.ts`, ['--help'])
    expect(await ended(help.child)).toBe(0)
    expect(help.output()).toContain('Example: npm')
    const version = spawnScript(`scripts/${name}.ts`, ['--version'])
    expect([await ended(version.child), version.output()]).toEqual([
      0,
      expect.stringMatching(/^tallystick \d+\.\d+\.\d+\n$/),
    ])
    const slip = spawnScript(`scripts/${name}.ts`, [flag])
    expect([await ended(slip.child), slip.output()]).toEqual([
      2,
      `There is no ${flag}. Did you mean ${meant}?\nThe flags that there are: --help\n`,
    ])
  },
)

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
