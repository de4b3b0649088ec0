/** What /verify, /health and /verify/checkpoint say, as the overview shows it. */

/** @typedef {{ uri: string, versions: number, intact: boolean, brokenAt?: number }} ChainVerdict */
/** @typedef {{ uri: string, encrypted: boolean, algorithm: string }} Receipt */
/**
 * @typedef {object} VerifyAnswer
 * @property {string} checkedAt
 * @property {string} atRest
 * @property {ChainVerdict[]} chains
 * @property {Receipt[]} receipts
 * @property {number} versions
 * @property {boolean} intact
 */

/**
 * The verdict in one line.
 *
 * @param {VerifyAnswer} answer
 */
export function verdictWords({ chains, intact }) {
  if (chains.length === 0) return 'No public records yet'
  const broken = chains.filter((chain) => !chain.intact).length
  if (!intact) return broken === 1 ? 'One chain is BROKEN' : `${broken} chains are BROKEN`
  return chains.length === 1 ? 'The one chain is intact' : `All ${chains.length} chains are intact`
}

/**
 * Broken chains first, then by name.
 *
 * @param {readonly ChainVerdict[]} chains
 */
export function inOrderOfConcern(chains) {
  return chains.toSorted(
    (one, other) => Number(one.intact) - Number(other.intact) || (one.uri < other.uri ? -1 : 1),
  )
}

/**
 * Size, root and signer of a signed checkpoint (a C2SP note); undefined for another text. Signatures are not verified
 * here: who trusts this page's service needs no proof, and who does not cannot trust its page.
 *
 * @param {string} note
 */
export function readCheckpoint(note) {
  const [origin, size, root, blank, ...signatures] = note.split('\n')
  const signer = /^— (\S+) \S+$/.exec(signatures[0] ?? '')?.[1]
  if (!origin || !/^\d+$/.test(size ?? '') || !root || blank !== '' || signer === undefined)
    return undefined
  return { size: Number(size), root, signer }
}
