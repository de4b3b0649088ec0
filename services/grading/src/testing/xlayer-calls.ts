/** What tests of money do with a world on a local X Layer: services over a filled ledger, signed payments, balances. */

import { ingestPayload } from '../ingest/ingest-payload.ts'
import { normaliseManualUpload } from '../ingest/manual-upload.ts'
import type { Card } from '../wire/cards.ts'
import { gradeExample, uploadExample } from '../wire/examples.ts'
import { uploadSchema } from '../wire/upload.ts'
import { posted, type RunningService, signedPayment, type XLayerWorld } from './xlayer-world.ts'

const RECEIVED_SECONDS = 1_780_400_000

type Address = { readonly baseUrl: string }

/** The example match, closed and settled, in a service's ledger. */
async function fill({ store }: Pick<RunningService, 'store'>): Promise<void> {
  const upload = uploadSchema.parse(uploadExample)
  await ingestPayload({
    store,
    raw: Buffer.from(JSON.stringify(uploadExample)),
    receivedAtSeconds: RECEIVED_SECONDS,
    read: () => [normaliseManualUpload(upload, RECEIVED_SECONDS)],
  })
}

/** Where grades are sold. */
export const grade = ({ baseUrl }: Address): string => `${baseUrl}/api/grade`

/** Sends a grade with a signed payment and reads the answer. */
export async function send(
  url: string,
  headers: Record<string, string>,
  body: unknown = gradeExample,
): Promise<{ status: number; card: Card & { error?: string }; headers: Headers; text: string }> {
  const answer = await fetch(url, posted(body, headers))
  const text = await answer.text()
  return { status: answer.status, card: JSON.parse(text), headers: answer.headers, text }
}

/** The same for the world of a test file, which is there once its tests run. */
export const xlayerCalls = (world: () => XLayerWorld) => ({
  startFilled: async (name: string, change: Record<string, string | undefined> = {}) => {
    const started = await world().startService(name, change)
    await fill(started)
    return started
  },
  balanceOf: (name: string) => world().chain.controls.balanceOf(world().account(name).address),
  sign: (name: string, at: Address) =>
    signedPayment(world(), world().account(name), { url: grade(at), body: gradeExample }),
})
