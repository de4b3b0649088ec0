import { Registry } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createTelemetry } from './telemetry.ts'

test('figures are read at each scrape, and reading them changes nothing', async () => {
  const registry = new Registry()
  const figures = {
    sessions: 3,
    streams: 2,
    subscriptions: 5,
    framesSent: 0,
    unheard: 1,
    silent: 4,
  }
  createTelemetry(registry).measure({ mcp: () => figures, replays: () => 0, events: () => 0 })
  const lines = async () => (await registry.metrics()).split('\n')
  expect(await lines()).toContain('care_frames_sent_total 0')
  Object.assign(figures, { sessions: 1, framesSent: 11 })
  await lines()
  const read = [
    'care_sessions 1',
    'care_streams 2',
    'care_subscriptions 5',
    'care_unheard_corrections 1',
    'care_silent_sessions 4',
    'care_event_subscriptions 0',
    'care_frames_sent_total 11',
    'care_replays_total 0',
  ]
  expect(await lines()).toEqual(expect.arrayContaining(read))
})

test('ended streams are counted by reason, including readers that were too slow', async () => {
  const registry = new Registry()
  const { onMcp } = createTelemetry(registry)
  for (const reason of ['slow', 'gone', 'slow'] as const) onMcp({ kind: 'stream-ended', reason })
  const lines = (await registry.metrics()).split('\n')
  expect(lines.filter((line) => line.startsWith('care_streams_ended_total'))).toEqual([
    'care_streams_ended_total{reason="slow"} 2',
    'care_streams_ended_total{reason="gone"} 1',
  ])
})
