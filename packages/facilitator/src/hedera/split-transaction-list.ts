/** The bytes are no list of transactions. */
export class MalformedTransactionList extends Error {
  override readonly name = 'MalformedTransactionList'
}

/** Tag of TransactionList's only field, `repeated Transaction transaction_list = 1`. */
const ENTRY_TAG = 0x0a

/**
 * Cuts a serialised TransactionList into one list per node, so that exactly one body is signed and submitted. Throws
 * MalformedTransactionList; verified payments are well formed.
 */
export function splitTransactionList(bytes: Uint8Array): readonly Uint8Array[] {
  const entries: Uint8Array[] = []
  let at = 0
  while (at < bytes.length) {
    const from = at
    if (bytes[at] !== ENTRY_TAG) throw new MalformedTransactionList()
    at += 1
    let length = 0
    let shift = 0
    for (let more = true; more; shift += 7) {
      const byte = bytes[at]
      // Four groups of seven bits are 256 MiB, far more than any payment.
      if (byte === undefined || shift > 21) throw new MalformedTransactionList()
      length |= (byte & 0x7f) << shift
      more = byte >= 0x80
      at += 1
    }
    at += length
    if (at > bytes.length) throw new MalformedTransactionList()
    entries.push(bytes.subarray(from, at))
  }
  return entries
}
