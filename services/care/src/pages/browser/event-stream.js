/**
 * @typedef {object} StreamHandlers
 * @property {(data: string) => void} onData An event's data; never empty.
 * @property {(id: string) => void} onId The id of an event, also of one without data: what to resume after.
 * @property {(retryMs: number) => void} onRetry How long the service asks to wait before resuming.
 */

/**
 * Reads a `text/event-stream` piece by piece, as the HTML standard has it: lines may end in CR, LF or both, an event
 * counts when its blank line has come. Returns the function that takes the next piece of text.
 *
 * @param {StreamHandlers} handlers
 */
export function eventStreamReader({ onData, onId, onRetry }) {
  let rest = ''
  /** @type {string[]} */
  let data = []
  /** @type {string | undefined} */
  let id

  function endEvent() {
    const text = data.join('\n')
    const seen = id
    data = []
    id = undefined
    if (text !== '') onData(text)
    if (seen !== undefined) onId(seen)
  }
  /** @param {string} line */
  function takeLine(line) {
    if (line === '') return endEvent()
    const [field = '', value = ''] = line.split(/:(.*)/s)
    const text = value.startsWith(' ') ? value.slice(1) : value
    if (field === 'data') data.push(text)
    else if (field === 'id' && !text.includes('\0')) id = text
    else if (field === 'retry' && /^\d+$/.test(text)) onRetry(Number(text))
    return undefined
  }
  return (/** @type {string} */ piece) => {
    // A CR that ends a piece may be half of a CRLF: it waits for what follows.
    const text = rest + piece
    const end = text.endsWith('\r') ? text.length - 1 : text.length
    const lines = text.slice(0, end).split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + text.slice(end)
    for (const line of lines) takeLine(line)
  }
}
