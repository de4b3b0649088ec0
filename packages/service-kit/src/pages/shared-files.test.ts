import { expect, test } from 'vitest'
import { browserModules } from './browser-modules.ts'

test('C39: the check of the browser is read by every one that has modules', () => {
  const root = new URL('browser/', import.meta.url)
  const [check] = browserModules({ root, entries: ['browser-check.ts'] })
  expect(check?.paths).toEqual(['/pages/browser-check.js'])
  expect(check?.body).not.toMatch(/\?\.[^\d]|\?\?|globalThis|\.(?:at|flat|replaceAll)\(/)
})
