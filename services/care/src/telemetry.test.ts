import { Registry } from '@tallystick/service-kit'
import { expect, test } from 'vitest'
import { createTelemetry, registerFigures } from './telemetry.ts'

test('what only grows is a counter that starts at 0, and reading it changes nothing; the rest are gauges', async () => {
  const registry = new Registry()
  const figures = {
    sessions: 3,
    streams: 2,
    subscriptions: 5,
    framesHeld: 7,
    framesSent: 0,
    unheard: 1,
    silent: 4,
  }
  registerFigures(registry, { mcp: () => figures, replays: () => 0, events: () => 0 })
  const lines = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^(# TYPE )?care_/.test(line))
  expect(await lines()).toContain('care_frames_sent_total 0')
  Object.assign(figures, { sessions: 1, framesSent: 11 })
  await lines()
  expect(await lines()).toEqual([
    '# TYPE care_sessions gauge',
    'care_sessions 1',
    '# TYPE care_streams gauge',
    'care_streams 2',
    '# TYPE care_subscriptions gauge',
    'care_subscriptions 5',
    '# TYPE care_frames_held gauge',
    'care_frames_held 7',
    '# TYPE care_unheard_corrections gauge',
    'care_unheard_corrections 1',
    '# TYPE care_silent_sessions gauge',
    'care_silent_sessions 4',
    '# TYPE care_event_subscriptions gauge',
    'care_event_subscriptions 0',
    '# TYPE care_frames_sent_total counter',
    'care_frames_sent_total 11',
    '# TYPE care_replays_total counter',
    'care_replays_total 0',
  ])
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
