// A witness on a port, written only from the words of c2sp.org/tlog-witness, c2sp.org/signed-note and RFC 9162: it shares no
// line with the code that it judges.
import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const sha256 = (...parts: readonly Uint8Array[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest()
const inner = (left: Buffer, right: Buffer): Buffer => sha256(Buffer.of(1), left, right)
const computeKeyId = (name: string, typed: Uint8Array): Buffer =>
  sha256(Buffer.from(`${name}\n`), typed).subarray(0, 4)

/** RFC 9162 §2.1.4.1 read backwards: what the two roots must be, from the proof's last hash to its first. */
function listRoots(
  sizes: { readonly old: number; readonly now: number },
  hashes: readonly Buffer[],
  oldRoot: Buffer,
): readonly [old: Buffer, now: Buffer] | undefined {
  const left = [...hashes]
  const take = (): Buffer => left.pop() ?? Buffer.alloc(0)
  const sub = (m: number, n: number, isWhole: boolean): readonly [Buffer, Buffer] => {
    if (m === n) {
      const same = isWhole ? oldRoot : take()
      return [same, same]
    }
    let k = 1
    while (k * 2 < n) k *= 2
    const sibling = take()
    if (m <= k) {
      const [old, now] = sub(m, k, isWhole)
      return [old, inner(now, sibling)]
    }
    const [old, now] = sub(m - k, n - k, false)
    return [inner(sibling, old), inner(sibling, now)]
  }
  const roots = sub(sizes.old, sizes.now, true)
  return left.length === 0 ? roots : undefined
}

type Answer = { readonly status: number; readonly body: string; readonly type?: string }
type Seen = { readonly size: number; readonly root: Buffer }

/** The public key in a verifier key. */
function readKey(verifierKey: string, type: number) {
  const [name = '', id = '', ...rest] = verifierKey.split('+')
  const typed = Buffer.from(rest.join('+'), 'base64')
  if (typed[0] !== type || computeKeyId(name, typed).toString('hex') !== id)
    throw new Error('no key')
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), typed.subarray(1)])
  return { name, id, key: createPublicKey({ key: der, format: 'der', type: 'spki' }) }
}

class Judge {
  readonly #log: ReturnType<typeof readKey>
  readonly #cosign: (text: string) => string
  seen: Seen | undefined

  constructor(logKey: string, cosign: (text: string) => string) {
    this.#log = readKey(logKey, 1)
    this.#cosign = cosign
  }

  answer(body: string): Answer {
    const blank = body.indexOf('\n\n')
    const [first = '', ...proof] = body.slice(0, blank).split('\n')
    const old = Number(/^old (\d+)$/.exec(first)?.[1] ?? Number.NaN)
    const note = body.slice(blank + 2)
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
    const [origin, sizeText, rootText] = text.split('\n')
    const size = Number(sizeText)
    if (blank < 0 || Number.isNaN(old) || old > size) return { status: 400, body: '' }
    if (origin !== this.#log.name) return { status: 404, body: '' }
    if (!this.#isSigned(note, text)) return { status: 403, body: '' }
    const root = Buffer.from(rootText ?? '', 'base64')
    const { seen } = this
    if (old !== (seen?.size ?? 0) || (size === seen?.size && !root.equals(seen.root)))
      return { status: 409, body: `${seen?.size ?? 0}\n`, type: 'text/x.tlog.size' }
    if (seen !== undefined) {
      const hashes = proof.map((hash) => Buffer.from(hash, 'base64'))
      const roots = listRoots({ old, now: size }, hashes, seen.root)
      if (roots?.[0].equals(seen.root) !== true || !roots[1].equals(root))
        return { status: 422, body: '' }
    }
    this.seen = { size, root }
    return { status: 200, body: this.#cosign(text) }
  }

  #isSigned(note: string, text: string): boolean {
    return note
      .slice(text.length + 1)
      .split('\n')
      .some((line) => {
        const [, name, encoded = ''] = line.split(' ')
        const blob = Buffer.from(encoded, 'base64')
        const isOurs = name === this.#log.name && blob.toString('hex', 0, 4) === this.#log.id
        return isOurs && verify(null, Buffer.from(text), this.#log.key, blob.subarray(4))
      })
  }
}

export type WitnessServer = Awaited<ReturnType<typeof startWitness>>

/** A witness's key, and the line that it signs over a checkpoint's text at a time. */
export function witnessKey(name: string, seed: Uint8Array) {
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const privateKey = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const raw = spki.export({ format: 'der', type: 'spki' }).subarray(-32)
  const typed = Buffer.concat([Buffer.of(4), raw])
  const keyId = computeKeyId(name, typed)
  return {
    verifierKey: `${name}+${keyId.toString('hex')}+${typed.toString('base64')}`,
    cosign(text: string, seconds: number): string {
      const time = Buffer.alloc(8)
      time.writeBigUInt64BE(BigInt(seconds))
      const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`)
      const blob = Buffer.concat([keyId, time, sign(null, message, privateKey)])
      return `\u2014 ${name} ${blob.toString('base64')}\n`
    },
  }
}

/** Starts a witness of one journal, by that journal's verifier key. */
export async function startWitness(options: { readonly name: string; readonly logKey: string }) {
  const { logKey, name } = options
  const key = witnessKey(name, sha256(Buffer.from(name)))
  let seconds = 1_795_392_000
  const judge = new Judge(logKey, (text) => key.cosign(text, (seconds += 1)))
  const requests: string[] = []
  let instead: ((body: string) => Answer | 'nothing') | undefined
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      requests.push(`${request.method} ${request.url} ${body.split('\n', 1)[0]}`)
      const answer = instead?.(body) ?? judge.answer(body)
      if (answer === 'nothing') return
      const { status, body: text, type = 'text/plain' } = answer
      response.writeHead(status, { 'content-type': type }).end(text)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/witness`,
    verifierKey: key.verifierKey,
    /** Requests so far: method, path and the first line of the body. */
    requests,
    seen: () => judge.seen?.size,
    /** Answers something else from now on, or not at all; without an argument, follows the protocol again. */
    answerInstead(answer: ((body: string) => Answer | 'nothing') | undefined): void {
      instead = answer
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
