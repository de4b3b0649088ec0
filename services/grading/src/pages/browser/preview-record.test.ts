import { expect, test } from 'vitest'
import { readRecord } from './preview-record.ts'

const pick = { market: 'soccer/epl.20240423.ars-che/1x2/ft', selection: 'home', odds: 2.1 }

test('a pasted record may be the API’s own JSON, a list or a request', () => {
  expect(readRecord(JSON.stringify([pick]))).toMatchObject({ body: { picks: [pick] }, rest: {} })
  const whole = readRecord(JSON.stringify({ label: 'mine', picks: [pick] }))
  expect(whole).toMatchObject({ body: { picks: [pick] }, rest: { label: 'mine' } })
})

test.each(['{', '[1,', '{"a":1}'])(
  'that is not JSON with picks is a problem, not an exception: %s',
  (text) => expect(readRecord(text).kind).toBe('problem'),
)
