// Somebody else's store of documents as the receiver of `care export --fhir`: HAPI FHIR's server, unmodified. Without it these
// tests are skipped and say why (hapi-server.fixture.ts).
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@tallystick/service-kit'
import { startServiceProcess } from '@tallystick/service-kit/service-process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeRecord } from './care-writer.ts'
import { hapiServerMissing, startHapiServer } from './hapi-server.fixture.ts'
import { root } from './spawned-stack.ts'

const because = hapiServerMissing === undefined ? '' : ` (skipped: ${hapiServerMissing})`
/** Java starts, and reads what R4 defines. */
const LIMIT_MS = 300_000

type Document = {
  readonly status: string
  readonly subject: { readonly identifier: { readonly value: string } }
  readonly content: readonly { readonly attachment: { readonly data?: string } }[]
  readonly relatesTo?: readonly { readonly target: { readonly reference?: string } }[]
  readonly id: string
}
type Bundle<Resource> = {
  readonly entry?: readonly {
    readonly resource: Resource
    readonly response?: { readonly status: string }
  }[]
}

const said = ({ content, status }: Document): string =>
  `${Buffer.from(content[0]?.attachment.data ?? '', 'base64').toString()} ${status}`

describe.skipIf(hapiServerMissing !== undefined)(
  `C37, C40: HAPI FHIR's server takes what care exports${because}`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-fhir-'))
    const secrets = { writeSecret: 'w'.repeat(40), tokenSecret: 't'.repeat(40) }
    let hapi: Awaited<ReturnType<typeof startHapiServer>>
    let care: ReturnType<typeof startServiceProcess>
    let environment: Readonly<Record<string, string>>
    let baseUrl: string

    beforeAll(async () => {
      hapi = await startHapiServer()
      const port = await freePort()
      baseUrl = `http://127.0.0.1:${port}`
      environment = {
        BASE_URL: baseUrl,
        PORT: String(port),
        DATABASE_PATH: join(folder, 'care.db'),
        WRITE_SECRET: secrets.writeSecret,
        TOKEN_SECRET: secrets.tokenSecret,
      }
      care = startServiceProcess([join(root, 'services/care/src/main.ts')], environment)
      await care.url()
    }, LIMIT_MS)
    afterAll(async () => {
      care?.kill('SIGKILL')
      await care?.ended
      await hapi?.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const write = async (record: Readonly<Record<string, unknown>>): Promise<void> => {
      const place = { baseUrl, mcpUrl: `${baseUrl}/mcp`, ...secrets }
      const written = { patient: 'kim', domain: 'tea', authorId: 'dr-osei', value: '', ...record }
      expect((await writeRecord(place, written)).status).toBe(200)
    }
    const exported = async (type: string): Promise<string> => {
      const command = join(root, 'services/care/src/command/main.ts')
      const words = [command, 'export', '--fhir', type, '--audience', 'all']
      const { stdout } = await promisify(execFile)(process.execPath, words, { env: environment })
      return stdout
    }
    const ask = async <Answer>(path: string, body?: string): Promise<Answer> => {
      const headers = { 'content-type': 'application/fhir+json', 'cache-control': 'no-cache' }
      const sent = body === undefined ? {} : { method: 'POST', body }
      const answer = await fetch(hapi.baseUrl + path, { headers, ...sent })
      const text = await answer.text()
      expect(answer.ok, text).toBe(true)
      return JSON.parse(text) as Answer
    }
    /** Sends the whole export, and names what the server did with each entry. */
    const send = async (): Promise<readonly string[]> => {
      const { entry = [] } = await ask<Bundle<object>>('', await exported('transaction'))
      return entry.map(({ response }) => response?.status.slice(0, 3) ?? '')
    }
    // Its search knows no `subject:identifier`.
    const documents = async (patient: string): Promise<readonly Document[]> => {
      const named = encodeURIComponent(`${baseUrl}/fhir/version-hash|`)
      const path = `/DocumentReference?identifier=${named}&_count=50`
      const { entry = [] } = await ask<Bundle<Document>>(path)
      const found = entry.map(({ resource }) => resource)
      return found.filter(({ subject }) => subject.identifier.value === patient)
    }
    const stored = async (patient: string) => (await documents(patient)).map(said).toSorted()

    it('a transaction: every version once, with its sentence, however often it is sent', async () => {
      await write({ value: 'One cup.' })
      await write({ value: 'Zwei Tassen – früh 💊.', language: 'de-AT' })
      await write({ patient: 'ben', domain: 'plan', audience: 'assistant', value: 'Internal.' })
      expect(await send()).toEqual(Array.from({ length: 6 }, () => '201'))
      const before = await stored('kim')
      expect(before).toEqual(['One cup. superseded', 'Zwei Tassen – früh 💊. current'])
      expect(await stored('ben')).toEqual(['Internal. current'])
      expect((await send()).filter((status) => status === '201')).toEqual([])
      expect(await stored('kim')).toEqual(before)
    })

    it('a correction supersedes what the server has, and names it', async () => {
      await write({ value: 'No tea.' })
      expect((await send()).filter((status) => status === '201')).toHaveLength(2)
      expect(await stored('kim')).toEqual([
        'No tea. current',
        'One cup. superseded',
        'Zwei Tassen – früh 💊. superseded',
      ])
      const found = await documents('kim')
      const newest = found.find((each) => each.status === 'current')
      const previous = found.find((each) => said(each).startsWith('Zwei'))
      expect(newest?.relatesTo?.[0]?.target.reference).toBe(`DocumentReference/${previous?.id}`)
    })

    it('a withdrawal is of every version there', async () => {
      await write({ status: 'wrong-person' })
      await send()
      const statuses = (await documents('kim')).map(({ status }) => status)
      expect(statuses).toEqual(Array.from({ length: 4 }, () => 'entered-in-error'))
      const { entry = [] } =
        await ask<Bundle<{ target: readonly { reference: string }[] }>>('/Provenance?_count=50')
      expect(new Set(entry.map(({ resource }) => resource.target[0]?.reference)).size).toBe(5)
    })

    it('a collection is kept, and given back, as it is', async () => {
      const sent = JSON.parse(await exported('collection')) as Bundle<object>
      const { id } = await ask<{ id: string }>('/Bundle', JSON.stringify(sent))
      const { entry } = await ask<Bundle<object>>(`/Bundle/${id}`)
      expect(entry).toEqual(sent.entry)
    })
  },
  LIMIT_MS,
)
