/** Bytes in one slice: some 300 rows of a wide table. */
const SLICE_BYTES = 64 * 1_024

/** A record longer than this has a quote that is never closed: the slice ends at a line all the same. */
const RECORD_BYTES_MAX = 1_048_576

const NEWLINE = 0x0a
const QUOTE = 0x22

/** Cuts a CSV's bytes into slices that end at the end of a record: at a line feed outside quotes. */
export function* csvSlices(bytes: Buffer, sliceBytes: number = SLICE_BYTES): Generator<Buffer> {
  let from = 0
  let isQuoted = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) isQuoted = !isQuoted
    if (byte !== NEWLINE || at - from < sliceBytes) continue
    if (isQuoted && at - from < RECORD_BYTES_MAX) continue
    yield bytes.subarray(from, at + 1)
    from = at + 1
    isQuoted = false
  }
  if (from < bytes.length) yield bytes.subarray(from)
}
