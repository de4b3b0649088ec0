import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import type { StackDescription } from '../../../scripts/stack/stack-file.ts'
import { careToken, writeRecord } from '../care-writer.ts'
import { note, type SoakCaller } from './soak-load.ts'

type Care = StackDescription['care']

const URI = 'care://heron/medication'
const HOSTS = 10
/** A host returns this often: sessions end and begin all the time. */
const ACTS_PER_SESSION = 40
const WRITE_PAUSE_MS = 250
const READ_PAUSE_MS = 100
const VERIFY_PAUSE_MS = 1_000

/** A host on the official SDK that subscribes, reads, and sometimes leaves, with or without ending its session. */
function host(care: Care, at: number): SoakCaller {
  let client: Client | undefined
  let transport: StreamableHTTPClientTransport | undefined
  let acts = 0
  const connect = async (heard: () => void): Promise<Client> => {
    const token = careToken(care, { sub: `host-${at}`, scope: 'care.read.user' })
    transport = new StreamableHTTPClientTransport(new URL(care.mcpUrl), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    })
    const connected = new Client({ name: 'soak', version: '1.0.0' })
    await connected.connect(transport)
    connected.setNotificationHandler(ResourceUpdatedNotificationSchema, heard)
    await connected.subscribeResource({ uri: URI })
    return connected
  }
  const leave = async (): Promise<void> => {
    if (acts % 2 === 0) await transport?.terminateSession()
    await client?.close()
    client = undefined
  }
  return {
    name: `host ${at}`,
    pauseMs: READ_PAUSE_MS,
    async act(account) {
      client ??= await connect(() => {
        account.answers.set('heard', (account.answers.get('heard') ?? 0) + 1)
      })
      const { contents } = await client.readResource({ uri: URI })
      // Behind the record stands what a correction took back (C29).
      const isRecord = contents[0]?.uri === URI && contents.length <= 2
      note(account, { call: 'read', status: isRecord ? 200 : 0, expected: [200] })
      acts += 1
      if (acts % ACTS_PER_SESSION === 0) await leave()
    },
    close: leave,
  }
}

/** Hosts that listen and read, a clinician who corrects, and auditors who replay the chains. */
export function careCallers({ care }: StackDescription): readonly SoakCaller[] {
  let version = 0
  const clinician: SoakCaller = {
    name: 'clinician',
    pauseMs: WRITE_PAUSE_MS,
    async act(account) {
      version += 1
      const value = `Take half a tablet at breakfast, note ${version}.`
      const slot = { patient: 'heron', domain: 'medication', authorId: 'dr-osei' }
      const { status } = await writeRecord(care, { ...slot, value })
      note(account, { call: 'write', status, expected: [200] })
    },
  }
  const auditor: SoakCaller = {
    name: 'auditor',
    pauseMs: VERIFY_PAUSE_MS,
    async act(account) {
      const answer = await fetch(`${care.baseUrl}/verify`)
      const { intact } = (await answer.json()) as { intact: boolean }
      note(account, { call: 'verify', status: intact ? answer.status : 0, expected: [200] })
    },
  }
  const intruder: SoakCaller = {
    name: 'intruder',
    pauseMs: READ_PAUSE_MS,
    async act(account) {
      const headers = { 'content-type': 'application/json', 'x-care-signature': 'sha256=00' }
      const answer = await fetch(`${care.baseUrl}/write`, { method: 'POST', headers, body: '{}' })
      await answer.arrayBuffer()
      note(account, { call: 'forged write', status: answer.status, expected: [401] })
    },
  }
  return [...Array.from({ length: HOSTS }, (_, at) => host(care, at)), clinician, auditor, intruder]
}
