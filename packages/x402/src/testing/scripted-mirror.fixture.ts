/** A mirror node over HTTP whose answers the test sets, a client of it on a stopped clock, and a credit to answer with. */

import { type ManualClock, manualClock } from '@tallystick/service-kit'
import { createMirrorNode, type MirrorNode } from '../schemes/hedera/mirror-node.ts'
import { type ScriptedServer, scriptedServer } from './scripted-server.fixture.ts'

export type ScriptedMirror = {
  readonly clock: ManualClock
  readonly server: ScriptedServer
  readonly mirror: MirrorNode
  /** Answers with this from now on; restarts the request count. */
  readonly answer: (json: unknown, status?: number) => void
}

export async function scriptedMirror(): Promise<ScriptedMirror> {
  const clock = manualClock(1_795_226_000_000)
  const server = await scriptedServer()
  return {
    clock,
    server,
    mirror: createMirrorNode({ url: server.url, clock }),
    answer(json, status = 200) {
      server.requests.length = 0
      server.answer = { status, body: JSON.stringify(json) }
    },
  }
}

export const movement = (account: string, amount: number): object => ({
  account,
  amount,
  is_approval: false,
})

/** A credit of 3 HBAR to 0.0.7001; 0.0.5001 paid its fee of 0.001 HBAR, as a mirror node reports it. */
export const credit = {
  transaction_id: '0.0.5001-1795226009-183949169',
  consensus_timestamp: '1795226012.000000042',
  valid_start_timestamp: '1795226009.183949169',
  charged_tx_fee: 100_000,
  memo_base64: Buffer.from('x402:0xab').toString('base64'),
  name: 'CRYPTOTRANSFER',
  nonce: 0,
  scheduled: false,
  result: 'SUCCESS',
  transfers: [
    movement('0.0.98', 100_000),
    movement('0.0.5001', -100_000),
    movement('0.0.7001', 300_000_000),
    movement('0.0.9001', -300_000_000),
  ],
}
