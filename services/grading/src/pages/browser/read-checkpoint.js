/**
 * Size and signer of a signed checkpoint (a C2SP note); undefined for another text. Signatures are not verified here: who
 * trusts this page's service needs no proof, and who does not cannot trust its page.
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
