// Every block of commands of every README and how-to page, in the order of its page, as a person runs it: `npm start` in one
// terminal of a clone, the page in a second one, which knows nothing of the first, with the Node that the machine has.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findStack, type StackDescription } from '../../scripts/stack/stack-file.ts'
import { type PageBlock, readBlocks, withPorts } from './page-blocks.ts'
import { cloneCheckout, readersNode, readersShell, untilSaid } from './readers-shell.ts'
import { root } from './spawned-stack.ts'

/** Pages whose commands want more around them than a local stack. A test of their own runs each block, in the page's order. */
const IN_OWN_TEST: Readonly<Record<string, string>> = {
  'docs/how-to/from-go.md': 'e2e/src/from-go.test.ts',
  'docs/how-to/from-python.md': 'e2e/src/from-python.test.ts',
  'docs/how-to/move-to-a-new-contract.md': 'services/access/src/command/move-contract.test.ts',
  'docs/how-to/postgres.md': 'services/grading/src/command/how-to-postgres.test.ts',
  'docs/how-to/run-a-clinic.md': 'services/care/src/command/how-to-clinic.test.ts',
  'docs/how-to/run-on-testnet.md': 'e2e/src/run-on-testnet.test.ts',
  'docs/how-to/several-machines.md': 'services/grading/src/command/how-to-several-machines.test.ts',
}

/** Blocks that cannot run here, by page and first line, each with the reason. */
const NOT_HERE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'bench/README.md': { 'npm run bench': 'measures for half an hour' },
  'contracts/README.md': {
    'cd contracts': 'the suites of the contracts, which npm test runs by themselves',
    'mkdir /tmp/mutants': 'a mutation tester from npm, for hours',
  },
  'docs/how-to/deploy-one-service.md': {
    'docker build': 'a container engine; CI builds the images',
    'buildah build': 'a builder; images.test.ts builds so where there is one',
    'docker compose --env-file deploy/local.env --profile local':
      'a container engine; CI pays there',
    'docker compose --env-file deploy/local.env --env-file': 'a container engine',
    'docker compose --env-file my-testnet.env': 'a container engine, and a testnet',
    'sqlite3 grading.db': 'an old program’s ledger; sqlite-stored-files.test.ts of grading has one',
  },
  'docs/how-to/release.md': {
    'npm run setup': 'packs for minutes; packed-packages.test.ts packs each package',
    'pnpm sbom': 'goes beside what was packed',
    'npm init': 'asks npm’s registry',
    'pnpm -r $PACKAGES publish': 'asks npm’s registry',
  },
}

/** What the commands of a page say, in this order. */
const SAID: Readonly<Record<string, readonly RegExp[]>> = {
  'README.md': [
    /402 Payment Required: 12 HBAR to account[^]*The end\./,
    /200 \{[^]*access: 'granted'[^]*paidThisRequest: true/,
    /HTTP\/1\.1 402 Payment Required/,
    /all chains intact/,
    /200 \{[^]*outcome: 'GRADED'[^]*scoreboard: \{ status: '(?:won|lost)'/,
    /Synthetic fixture, not a real market\./,
    /"population":"mechanical"/,
  ],
  'contracts/README.md': [/\(true, /],
  'docs/how-to/audit-a-tracker-file.md': [/"line":2,[^]*"line":3,/],
  'docs/how-to/keep-care-records.md': [
    /care\.db: 8 user and \d+ assistant versions, checked/,
    /user journal: 8 entries accepted/,
    /user journal: \d+ entries, as exported/,
    /All \d+ chains intact/,
  ],
  'docs/how-to/watch-it-run.md': [/"status":402/],
  'packages/agent/README.md': [/200 \{/, /A period costs 3 HBAR/, /Paid 12 HBAR/, /Renewed itself/],
  'packages/devnet/README.md': [
    /--like-testnet/,
    /"result":"0xfdc9101400"/,
    /status +1 \(success\)/,
  ],
  'packages/facilitator/README.md': [/"scheme":"exact"/],
  'packages/issuer/README.md': [/"authorization_endpoint"/],
  'packages/jwt-lite/README.md': [/^eyJ/m],
  'packages/service-kit/README.md': [/PORT: expected an integer/, /Did you mean verify\?/],
  'services/access/README.md': [/Earned /, /402 Payment Required/],
  'services/care/README.md': [/"uri":"care:\/\/heron\/medication","version":\d+/],
  'services/grading/README.md': [/match\.json: 1 events? read/, /"close":"final"/],
}

/** A command that stays has started. */
const STAYS = /"listening"|Ctrl-C stops everything|Local Hedera is up/
/** The same on ports of their own: tests do not use the documented ones. */
const ON_FREE_PORTS: Readonly<Record<string, string>> = {
  'npm start': 'npm start -- --free-ports',
  'npm run devnet': 'npm run devnet -- --rpc-port 0 --mirror-port 0 --consensus-port 0',
}

const isShell = ({ code, language }: PageBlock): boolean =>
  /^(?:sh|bash|shell|console)$/.test(language) || /^\$ /m.test(code)

const pages = execFileSync('git', ['ls-files', '*README.md', 'docs/how-to/*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .trim()
  .split('\n')
  .map((page) => ({ page, blocks: readBlocks(page) }))
  .filter(({ blocks }) => blocks.some(isShell))

const reasonNotHere = (page: string, { code }: PageBlock): string | undefined =>
  Object.entries(NOT_HERE[page] ?? {}).find(([start]) => code.startsWith(start))?.[1]

const folder = mkdtempSync(join(tmpdir(), 'every-block-'))
const { shell, run, endAll } = readersShell(folder)
let stack: StackDescription

/** Starts what stays, in a terminal of its own, and returns what it said until then. */
async function startAndLeave(script: string): Promise<string> {
  const started = shell(script)
  await untilSaid(started, STAYS)
  return started.output()
}

beforeAll(async () => {
  cloneCheckout(folder)
  await startAndLeave(ON_FREE_PORTS['npm start'] ?? '')
  const found = findStack(join(folder, '.local/stack.json'))
  if (found.kind !== 'running') throw new Error(`the stack is ${found.kind}`)
  stack = found.description
})

afterAll(async () => {
  await endAll()
  rmSync(folder, { recursive: true, force: true })
})

/** The blocks as they stand but for places of this machine: their ports, and the folder of services. */
async function placeHere(blocks: readonly PageBlock[]): Promise<readonly PageBlock[]> {
  const own = blocks.flatMap(({ code }) => code.match(/(?<=\bPORT=)\d+/g) ?? [])
  const free = new Map<string, string>()
  for (const port of own) free.set(port, String(await freePort()))
  return blocks.map(({ code, ...block }) => ({
    ...block,
    code: [...free].reduce(
      (text, [port, other]) => text.replaceAll(port, other),
      withPorts(stack, code).replaceAll('/srv/', `${folder}/srv/`),
    ),
  }))
}

/** Runs a page's blocks in one shell, and in a new one after each that stays; returns what was said. */
async function runPage(page: string, blocks: readonly PageBlock[]): Promise<string> {
  let said = ''
  let typed = ''
  for (const block of await placeHere(blocks)) {
    const { code } = block
    if (block.name.includes('.')) writeFileSync(join(folder, block.name), code)
    if (!isShell(block) || reasonNotHere(page, block) !== undefined) continue
    if (code === 'npm start\n') continue // in the first terminal
    if (block.name !== 'stays') typed += code
    else {
      said += await startAndLeave(typed + (ON_FREE_PORTS[code.trim()] ?? code))
      typed = ''
    }
  }
  return `${said}${await run(typed)}`
}

describe(`every block, with Node ${readersNode()}`, () => {
  it('a page in a list has the block that the list names, or is named in its own test', () => {
    for (const [page, starts] of Object.entries(NOT_HERE))
      for (const start of Object.keys(starts))
        expect(
          pages
            .find((each) => each.page === page)
            ?.blocks.some(({ code }) => code.startsWith(start)),
          `${page}: ${start}`,
        ).toBe(true)
    for (const [page, test] of Object.entries(IN_OWN_TEST)) {
      expect(pages.map((each) => each.page)).toContain(page)
      const [name = ''] = page.split('/').slice(-1)
      expect(readFileSync(join(root, test), 'utf8')).toContain(name)
    }
    expect(pages.map((each) => each.page)).toEqual(
      expect.arrayContaining([...Object.keys(SAID), ...Object.keys(NOT_HERE)]),
    )
  })

  const own = pages.filter(({ page }) => IN_OWN_TEST[page] === undefined)
  it.each(own)('$page', async ({ page, blocks }) => {
    const said = await runPage(page, blocks)
    for (const sentence of SAID[page] ?? []) expect(said).toMatch(sentence)
  })
})
