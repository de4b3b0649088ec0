import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { createAnvilClient } from './anvil-client.ts'
import { AnvilMissing, findAnvil, startAnvil } from './anvil-process.ts'

const OPTIONS = { chainId: 296, genesisSecond: 1_700_000_000, gasLimit: 15_000_000 }

// A temporary folder of its own, so that ledgers of other tests do not count.
const temporary = mkdtempSync(join(tmpdir(), 'anvil-process-'))
vi.stubEnv('TMPDIR', temporary)
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(temporary, { recursive: true, force: true })
})

function isAlive(processId: number): boolean {
  try {
    // The guardian leads anvil's process group; signal 0 only asks whether anyone is left.
    process.kill(-processId, 0)
    return true
  } catch {
    return false
  }
}

function folders(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('tallystick-devnet-'))
}

describe('anvil’s process', () => {
  test('serves, and stop leaves neither process nor folder', async () => {
    const before = folders()
    const anvil = await startAnvil(OPTIONS)
    const own = folders().filter((name) => !before.includes(name))
    const client = createAnvilClient(anvil)
    expect(await client.call('eth_chainId')).toBe('0x128')
    client.close()
    await anvil.stop()
    expect(isAlive(anvil.processId)).toBe(false)
    expect(own.filter((name) => existsSync(`${tmpdir()}/${name}`))).toEqual([])
  })

  test.each(['127.0.0.2', '::1', '0.0.0.0'])(
    'listens on %s, and reports a reachable address',
    async (host) => {
      const anvil = await startAnvil({ ...OPTIONS, host })
      const client = createAnvilClient(anvil)
      expect(anvil.host).toBe(host === '0.0.0.0' ? '127.0.0.1' : host)
      expect(await client.call('eth_chainId')).toBe('0x128')
      client.close()
      await anvil.stop()
    },
  )

  test('leaves no folder if anvil is missing', async () => {
    const { env, platform } = process
    const before = folders()
    Object.defineProperty(process, 'platform', { value: 'plan9' })
    process.env = { ...env, PATH: '/nowhere' }
    try {
      await expect(startAnvil(OPTIONS)).rejects.toThrow(AnvilMissing)
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
      process.env = env
    }
    expect(folders()).toEqual(before)
  })

  test('dies with us, even by kill -9', async () => {
    const script = `
      import { startAnvil } from '${new URL('./anvil-process.ts', import.meta.url).href}'
      const anvil = await startAnvil(${JSON.stringify(OPTIONS)})
      console.log(anvil.processId)
      setInterval(() => {}, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const processId = await new Promise<number>((resolve) => {
      parent.stdout.once('data', (line: Buffer) => {
        resolve(Number(line.toString()))
      })
    })
    expect(isAlive(processId)).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(() => isAlive(processId), { interval: 20 }).toBe(false)
  })
})

describe('findAnvil', () => {
  test('finds the program itself, not a launcher that would leave it behind', () => {
    expect(findAnvil()).toMatch(/\/bin\/anvil$/)
  })

  test('says what to install if there is none', () => {
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'plan9' })
    try {
      expect(() => findAnvil('/nowhere')).toThrow(AnvilMissing)
      expect(() => findAnvil('/nowhere')).toThrow(/Install Foundry/)
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  test('takes the one on PATH if npm has none', () => {
    const folder = findAnvil().replace(/\/anvil$/, '')
    const { platform } = process
    Object.defineProperty(process, 'platform', { value: 'plan9' })
    try {
      expect(findAnvil(`/nowhere:${folder}`)).toBe(`${folder}/anvil`)
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })
})
