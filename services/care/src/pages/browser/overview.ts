/** The overview: live verdicts on the public chains, refreshed while somebody is looking. */
import { offerCopies, put, readCheckpoint } from '@tallystick/service-kit/browser'
import type { VerifyPayload } from '../../wire/verify.ts'
import { showChains, showNoVerdict, showVerdict } from './overview-view.ts'

/** A replay reads every stored byte, so the pause is at least this, and at least twenty times as long as the last replay took. */
const REFRESH_MS = 5_000
const REFRESH_SHARE = 20

async function read(path: string, accept: string): Promise<Response> {
  const answer = await fetch(path, { headers: { accept }, cache: 'no-store' })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return answer
}

async function showCheckpoint(): Promise<void> {
  const answer = await read('/verify/checkpoint', 'text/plain')
  const checkpoint = readCheckpoint(await answer.text())
  if (checkpoint === undefined) return
  put('checkpoint-size', String(checkpoint.size))
  put('checkpoint-root', checkpoint.root)
  put('checkpoint-signer', checkpoint.signer)
}

async function showSessions(): Promise<void> {
  const answer = await read('/health', 'application/json')
  const { sessions }: { readonly sessions: number } = await answer.json()
  put('sessions', String(sessions))
}

async function showVerification(): Promise<void> {
  try {
    const answer = await read('/verify', 'application/json')
    const verified: VerifyPayload = await answer.json()
    showVerdict(verified)
    showChains(verified)
  } catch {
    showNoVerdict()
  }
}

async function refresh(): Promise<void> {
  const startedMs = performance.now()
  if (document.visibilityState === 'visible')
    await Promise.allSettled([showVerification(), showSessions(), showCheckpoint()])
  const tookMs = performance.now() - startedMs
  setTimeout(() => void refresh(), Math.max(REFRESH_MS, tookMs * REFRESH_SHARE))
}

offerCopies()
void refresh()
