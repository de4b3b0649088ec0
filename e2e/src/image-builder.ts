// Images where no engine runs and no registry is reachable: buildah builds the Dockerfile as it stands, on a Debian that
// mmdebstrap makes and on the same with a Node and its npm, and runs what comes out. All of it lies in one folder.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { ended, readOutput, root } from './spawned-stack.ts'

/** Whom this machine trusts: a proxy before the npm registry may have an authority of its own. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt'
const isSuperuser = process.getuid?.() === 0

const works = (program: string, ...words: readonly string[]): boolean =>
  spawnSync(program, words).status === 0

/** Why no image can be built here, undefined if it can. */
export function builderMissing(): string | undefined {
  if (process.env['TALLYSTICK_LONG'] !== '1') return 'it takes minutes: npm run test:long'
  const absent = ['buildah', 'mmdebstrap'].filter((name) => !works(name, '--version'))
  if (absent.length > 0) return `not installed: ${absent.join(', ')}`
  if (!isSuperuser && !works('buildah', 'unshare', 'true'))
    return 'this user may map no others (uidmap, /etc/subuid)'
  return undefined
}

const Inspected = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      Entrypoint: z.array(z.string()),
      Healthcheck: z.object({ Test: z.array(z.string()) }),
    }),
  }),
})
const Listed = z.array(z.object({ names: z.array(z.string()).nullish(), size: z.string() }))

export type RunningContainer = {
  readonly child: ChildProcess
  output(): string
  /** Whether the image's own check finds it well. */
  isHealthy(): Promise<boolean>
  stop(): Promise<number | null>
}

type Start = {
  readonly entry?: readonly string[] | undefined
  readonly flags?: readonly string[] | undefined
  readonly environment?: Readonly<Record<string, string>>
  /** Files of `/run/secrets`. */
  readonly secrets?: Readonly<Record<string, string>>
}

/** What buildah says on a busy machine when it could not begin: nothing was done. */
const NOT_BEGUN = 'sealing memfd copy: Device or resource busy'
const TRIES_MAX = 5

/** Waits for the end, and returns what was said. */
async function run(begin: () => ChildProcess): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const child = begin()
    const output = readOutput(child)
    if ((await ended(child)) === 0) return output()
    if (tries === TRIES_MAX || !output().includes(NOT_BEGUN))
      throw new Error(`${child.spawnargs.join(' ')}:\n${output()}`)
  }
}

export function createImageBuilder() {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-images-'))
  let containers = 0

  /** Mounts end with each command; for an ordinary user buildah sees to that by itself. */
  const begin = (words: readonly string[]): ChildProcess => {
    const places = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')]
    const command = [...(isSuperuser ? ['unshare', '--mount'] : []), 'buildah', ...places, ...words]
    const [program = '', ...rest] = command
    return spawn(program, rest, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const buildah = (...words: readonly string[]) => run(() => begin(words))
  const build = (...words: readonly string[]) =>
    buildah('build', '--isolation', 'chroot', '--format', 'docker', '--layers', ...words)
  const inContainer = (
    container: string,
    words: readonly string[],
    mounts: readonly string[] = [],
  ) => begin(['run', '--isolation', 'chroot', ...mounts, container, '--', ...words])
  const inspect = async (image: string) =>
    Inspected.parse(JSON.parse(await buildah('inspect', '--type', 'image', image))).Docker.config

  const makeContainer = async (
    image: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const name = `container-${(containers += 1)}`
    await buildah('from', '--name', name, image)
    const variables = Object.entries(environment).flatMap(([key, value]) => [
      '--env',
      `${key}=${value}`,
    ])
    if (variables.length > 0) await buildah('config', ...variables, name)
    return name
  }

  return {
    /** What the Dockerfile takes from a registry elsewhere. */
    async makeBases(): Promise<void> {
      const place = join(folder, 'base')
      mkdirSync(place)
      const tarball = join(place, 'debian.tar')
      await run(() => spawn('mmdebstrap', ['--variant=minbase', 'trixie', tarball]))
      writeFileSync(join(place, 'debian'), 'FROM scratch\nADD debian.tar /\n')
      await build('--file', join(place, 'debian'), '--tag', 'debian', place)

      const npm = spawnSync('bash', ['-c', 'realpath "$(command -v npm)"'], { encoding: 'utf8' })
      cpSync(join(npm.stdout.trim(), '../..'), join(place, 'npm'), { recursive: true })
      copyFileSync(process.execPath, join(place, 'node'))
      copyFileSync(AUTHORITIES, join(place, 'authorities.crt'))
      const lines = [
        'FROM localhost/debian',
        'RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1',
        'COPY node /usr/local/bin/node',
        'COPY npm /usr/local/lib/node_modules/npm',
        'RUN cd /usr/local/bin && for name in npm npx; do ln -s ../lib/node_modules/npm/bin/$name-cli.js $name; done',
        `COPY authorities.crt ${AUTHORITIES}`,
        `ENV NODE_EXTRA_CA_CERTS=${AUTHORITIES} SSL_CERT_FILE=${AUTHORITIES}`,
      ]
      writeFileSync(join(place, 'node.containerfile'), `${lines.join('\n')}\n`)
      await build('--file', join(place, 'node.containerfile'), '--tag', 'node', place)
    },

    /** Builds the image of a service. */
    async build(service: string): Promise<void> {
      const bases = ['NODE', 'DEBIAN'].map(
        (name) => `${name}_IMAGE=localhost/${name.toLowerCase()}`,
      )
      const flags = [...bases, `SERVICE=${service}`].flatMap((word) => ['--build-arg', word])
      await build(...flags, '--tag', `tallystick-${service}`, '.')
    },

    inspect,

    /** What a command says in a container of that image, as its user. */
    async say(image: string, command: string): Promise<string> {
      const container = await makeContainer(image)
      return await run(() => inContainer(container, ['bash', '-c', command]))
    },

    /** Each image's name and size. */
    async sizes(): Promise<string> {
      const images = Listed.parse(JSON.parse(await buildah('images', '--json')))
      const named = images.flatMap(({ names, size }) =>
        (names ?? []).map((name) => `${name} ${size}`),
      )
      return named.toSorted().join('\n')
    },

    async start(image: string, { environment = {}, entry, flags = [], secrets }: Start) {
      const container = await makeContainer(image, environment)
      // It shares networks and processes, as everything does without an engine: a mount of its own outlives none of the other's.
      const beside = await makeContainer(image, environment)
      const { Entrypoint, Healthcheck } = await inspect(image)
      const mounts: string[] = []
      if (secrets !== undefined) {
        const place = join(folder, `${container}-secrets`)
        mkdirSync(place)
        for (const [name, value] of Object.entries(secrets))
          writeFileSync(join(place, name), value, { mode: 0o644 })
        mounts.push('--volume', `${place}:/run/secrets:ro`)
      }
      // It names its process, which this namespace of processes has too.
      const named = ['bash', '-c', 'echo "process $$"; exec "$0" "$@"', ...(entry ?? Entrypoint)]
      const child = inContainer(container, [...named, ...flags], mounts)
      const output = readOutput(child)
      const running: RunningContainer = {
        child,
        output,
        isHealthy: async () => (await ended(inContainer(beside, Healthcheck.Test.slice(1)))) === 0,
        stop: async () => {
          const [, pid = ''] = /^process (\d+)$/m.exec(output()) ?? []
          await run(() => inContainer(beside, ['bash', '-c', `kill -TERM ${pid}`]))
          return await ended(child)
        },
      }
      return running
    },

    /** Leaves nothing behind. */
    remove(): void {
      if (!isSuperuser) spawnSync('buildah', ['unshare', 'rm', '-rf', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
