import { expect, test } from 'vitest'
import { takeTrace, traceHeaders } from './traces.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const TRACEPARENT = `00-${TRACE}-${SPAN}-01`

const sent = (headers: Readonly<Record<string, string>>, keepsSpans = false) =>
  new Map(traceHeaders(takeTrace(headers, keepsSpans)))

test('S14: a request’s trace is taken up below the span that it names, and passed on', () => {
  const trace = takeTrace({ traceparent: TRACEPARENT }, false)
  expect(trace).toMatchObject({ traceId: TRACE, parentId: SPAN, isSampled: true })
  expect(trace.spanId).toMatch(/^(?!0{16})[\da-f]{16}$/)
  expect(trace.spanId).not.toBe(SPAN)
  expect(sent({ traceparent: TRACEPARENT }).get('traceparent')).toMatch(
    new RegExp(`^00-${TRACE}-[\\da-f]{16}-01$`),
  )
})

test.each([
  ['none', undefined],
  ['version ff', `ff-${TRACE}-${SPAN}-01`],
  ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
  ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
  ['upper case', TRACEPARENT.toUpperCase()],
  ['a trace too short', `00-${TRACE.slice(1)}-${SPAN}-01`],
  ['no flags', `00-${TRACE}-${SPAN}`],
  ['version 00 with more behind it', `${TRACEPARENT}-00`],
  ['a later version with more behind it that no dash begins', `01-${TRACE}-${SPAN}-01.x`],
  ['two of them', `${TRACEPARENT}, ${TRACEPARENT}`],
])('S14: %s begins a new trace, without the state that came along', (_, traceparent) => {
  const headers = { tracestate: 'vendor=1', ...(traceparent !== undefined && { traceparent }) }
  const trace = takeTrace(headers, true)
  expect(trace.traceId).toMatch(/^[\da-f]{32}$/)
  expect(trace.traceId).not.toBe(TRACE)
  expect(trace).toMatchObject({ isSampled: true })
  expect(trace.parentId).toBeUndefined()
  expect(takeTrace(headers, false).isSampled).toBe(false)
  expect([...sent(headers).keys()]).toEqual(['traceparent'])
})

test.each([
  ['later version', `cc-${TRACE}-${SPAN}-01`],
  ['later version that says more', `cc-${TRACE}-${SPAN}-01-what-comes`],
])('S14: a %s is read as far as it is known, and passed on as 00', (_, traceparent) => {
  expect(sent({ traceparent }).get('traceparent')).toMatch(
    new RegExp(`^00-${TRACE}-[\\da-f]{16}-01$`),
  )
})

test.each([
  ['00', '00'],
  ['01', '01'],
  ['02', '00'],
  ['ff', '01'],
])('S14: of the flags %s only whether the span was kept is passed on: %s', (flags, expected) => {
  const traceparent = `00-${TRACE}-${SPAN}-${flags}`
  expect(sent({ traceparent }, true).get('traceparent')).toMatch(new RegExp(`-${expected}$`))
})

const state = (tracestate: string) =>
  sent({ traceparent: TRACEPARENT, tracestate }).get('tracestate')
const members = (count: number) => Array.from({ length: count }, (_, at) => `v${at}=1`).join()

test('S14: a state is passed on as it came; one that is too long, has too many members or other characters is not', () => {
  expect(state('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toBe(
    'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
  )
  expect(state(members(32))).toBe(members(32))
  expect(state(members(33))).toBeUndefined()
  expect(state(`a=${'x'.repeat(510)}`)).toBeDefined()
  expect(state(`a=${'x'.repeat(511)}`)).toBeUndefined()
  expect(state('a=\u0001')).toBeUndefined()
  expect(state('a=é')).toBeUndefined()
})
