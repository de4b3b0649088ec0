// A service in its own process, which is killed and restarted; receivers over TLS, under names that tests rebind; and a trap
// at every address outside the internet.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { testEnvironment } from '../testing/care.fixture.ts'
import { EVENTS_ENVIRONMENT, startReceiver } from '../testing/event-receiver.fixture.ts'
import { type NameAnswers, PUBLIC_ADDRESS, TRAP_HOST } from './event-kills-network.fixture.ts'

const toPath = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

/** Of *.receiver.test, until 2120. */
const TLS = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg17LjjA22sniI5KOa
1gbjed9eyN4vRO5hI3R5C58pCyehRANCAAQIzgFs194kuubXGgmco1BDm0LT7MRw
n4C6Nmo1FQ64qWZQntbkTqn4QraBptbq3b+ZcCF0zPNj7ssfxbKLK2O9
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBTzCB9qADAgECAgEBMAoGCCqGSM49BAMCMBgxFjAUBgNVBAMMDXJlY2VpdmVy
LnRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBgxFjAUBgNV
BAMMDXJlY2VpdmVyLnRlc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQIzgFs
194kuubXGgmco1BDm0LT7MRwn4C6Nmo1FQ64qWZQntbkTqn4QraBptbq3b+ZcCF0
zPNj7ssfxbKLK2O9oy8wLTAaBgNVHREEEzARgg8qLnJlY2VpdmVyLnRlc3QwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAwZN7vP1/RMCl00zyw+KFK
VQvCNQU1+2sA76QJNRmckQIhAKGa4qde+ODZrrhx6DwYvCB/u5pJLKVylN6sJj6K
TAPf
-----END CERTIFICATE-----`,
}

/** A receiver at the internet's address, and a trap at any other one. */
export async function startNetwork() {
  const folder = mkdtempSync(join(tmpdir(), 'care-network-'))
  const [namesPath, notesPath, certPath] = ['names.json', 'notes', 'cert.pem'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  for (const [path, text] of [
    [namesPath, '{}'],
    [notesPath, ''],
    [certPath, TLS.cert],
  ] as const)
    writeFileSync(path, text)
  const receiver = await startReceiver(TLS)
  const { port } = new URL(receiver.url)
  let trapped = 0
  const trap = createServer((socket) => {
    trapped += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => void trap.listen(Number(port), TRAP_HOST, resolve))
  const names = new Map<string, NameAnswers>()
  return {
    receiver,
    makeUrl: (sub: string, path: string) => `https://${sub}.receiver.test:${port}/${sub}/${path}`,
    /** Sets what look-ups of a subscriber's name answer; without addresses, the internet's. */
    bind: (sub: string, first: readonly string[] = [PUBLIC_ADDRESS], after = first): void => {
      names.set(`${sub}.receiver.test`, { first, after })
      // In one step: a service may be reading it.
      writeFileSync(`${namesPath}.new`, JSON.stringify(Object.fromEntries(names)))
      renameSync(`${namesPath}.new`, namesPath)
    },
    /** Connections to addresses outside the internet. */
    trapped: (): number => trapped,
    /** Look-ups that answered one: `<name> <address>…` each. */
    rebinds: (): readonly string[] => readFileSync(notesPath, 'utf8').trimEnd().split('\n'),
    environment: {
      NETWORK_NAMES: namesPath,
      NETWORK_NOTES: notesPath,
      NETWORK_PORT: port,
      NODE_EXTRA_CA_CERTS: certPath,
    },
    close: (): void => {
      receiver.close()
      trap.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Starts the service as production does, with the guard of receivers' addresses. */
export async function startKillable(environment: Readonly<Record<string, string>>) {
  const { EVENTS_PRIVATE: _, ...events } = EVENTS_ENVIRONMENT
  const words = ['--import', toPath('event-kills-network.fixture.ts'), toPath('../main.ts')]
  const service = startServiceProcess(words, {
    ...testEnvironment,
    ...events,
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'info',
    ...environment,
  })
  return {
    url: await service.url(),
    kill: async (): Promise<void> => {
      service.kill('SIGKILL')
      await service.ended
    },
  }
}
