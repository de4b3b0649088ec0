import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environmentTable } from '@tallystick/service-kit'
import { describe, expect, it } from 'vitest'
import { facilitatorConfig } from '../../packages/facilitator/src/config.ts'
import { installableServices } from '../../scripts/install/installable-services.ts'
import { accessConfigSchema } from '../../services/access/src/config.ts'
import { careConfigSchema } from '../../services/care/src/config.ts'
import { gradingConfigSchema } from '../../services/grading/src/config.ts'
import { composeServices, composeVariables, envFile } from './compose-file.ts'
import { root } from './spawned-stack.ts'

const local = composeServices(envFile('local.env'))
const services = Object.entries(local)
const hasCompose = spawnSync('docker-compose', ['version']).status === 0
const schemas = {
  access: accessConfigSchema,
  care: careConfigSchema,
  grading: gradingConfigSchema,
  facilitator: facilitatorConfig,
}

function config(...flags: readonly string[]) {
  return spawnSync('docker-compose', [...flags, 'config', '--quiet'], {
    cwd: root,
    encoding: 'utf8',
  })
}

describe('docker-compose.yml', () => {
  it.skipIf(!hasCompose)(
    'is valid with the local profile and for testnet (skipped where docker-compose is absent)',
    () => {
      const { status, stderr } = config('--env-file', 'deploy/local.env', '--profile', 'local')
      expect(status, stderr).toBe(0)
      const testnet = config('--env-file', 'deploy/testnet.env.example')
      expect(testnet.status, testnet.stderr).toBe(0)
    },
  )

  it('runs each service without privileges, on a read-only root file system', () => {
    expect(services.length).toBeGreaterThanOrEqual(5)
    for (const [name, service] of services) {
      expect(service.read_only, name).toBe(true)
      expect(service.cap_drop, name).toEqual(['ALL'])
      expect(service.security_opt, name).toEqual(['no-new-privileges:true'])
    }
  })

  it('keeps the local ledger and its facilitator under a profile', () => {
    const always = services.filter(([, { profiles }]) => profiles.length === 0)
    expect(always.map(([name]) => name)).toEqual(['access', 'care', 'grading'])
  })

  it('sets only variables known to the service', () => {
    for (const [name, schema] of Object.entries(schemas)) {
      const known = environmentTable(schema)
      for (const variable of Object.keys(local[name]?.environment ?? {}))
        expect(known, `${variable} of ${name}`).toContain(`\`${variable}\``)
    }
  })

  it('builds only what can be installed', () => {
    const names = installableServices.map(({ name }) => name)
    for (const [, service] of services) expect(names).toContain(service.build.args.SERVICE)
  })

  it('needs exactly the variables in the testnet example', () => {
    const listed = Object.keys(envFile('testnet.env.example')).toSorted()
    expect(listed).toEqual([...composeVariables(['access', 'care', 'grading'])].toSorted())
  })
})

describe('Dockerfile', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

  it('runs as an unprivileged user, with a health check', () => {
    const [, last = ''] = dockerfile.split(/^FROM .*$/m).slice(1)
    expect(last).toMatch(/^USER node$/m)
    expect(last).toMatch(/^HEALTHCHECK /m)
    expect(last.indexOf('USER node')).toBeLessThan(last.indexOf('ENTRYPOINT'))
  })

  it('installs with the command that production-install.test.ts runs', () => {
    expect(dockerfile).toContain('RUN node scripts/install-service.ts "$SERVICE" /app')
    expect(dockerfile).toContain('ENTRYPOINT ["node", "main.mjs"]')
  })

  it('runs that command before anything is installed: it imports only Node and its own files', () => {
    const source = mkdtempSync(join(tmpdir(), 'tallystick-source-'))
    try {
      cpSync(join(root, 'scripts'), join(source, 'scripts'), { recursive: true })
      cpSync(join(root, 'package.json'), join(source, 'package.json'))
      const { status, stderr } = spawnSync(process.execPath, ['scripts/install-service.ts'], {
        cwd: source,
        encoding: 'utf8',
      })
      expect(stderr).toContain('SERVICE is one of access, care, grading, facilitator, devnet.')
      expect(status).toBe(2)
    } finally {
      rmSync(source, { recursive: true })
    }
  })
})
