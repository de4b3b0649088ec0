import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram, manualClock } from '@tallystick/service-kit'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SpeechUnavailable } from '../domain/speech.ts'
import {
  createEspeakSpeech,
  SPEECH_CHARS_MAX,
  SPEECH_LIMIT_MS,
  SPEECH_WAITING_MAX,
} from './espeak-speech.ts'

const espeak = findProgram('espeak-ng', process.env['PATH'] ?? '')
const folder = mkdtempSync(join(tmpdir(), 'care-speech-test-'))
/** Where the sounds lie: what an ended run of these tests has left elsewhere is none of ours. */
const sounds = mkdtempSync(join(tmpdir(), 'care-speech-sounds-'))
beforeEach(() => void vi.stubEnv('TMPDIR', sounds))
afterAll(() => {
  vi.unstubAllEnvs()
  for (const made of [folder, sounds]) rmSync(made, { recursive: true })
})

/** A program in espeak-ng's place. */
const programOf = (name: string, script: string): string => {
  const file = join(folder, name)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

const soundSeconds = (wav: Uint8Array): number => {
  const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength)
  return view.getUint32(40, true) / view.getUint32(28, true)
}

const leftOver = (): string[] => readdirSync(sounds)

describe.skipIf(espeak === undefined)('C13: the system’s espeak-ng (skipped where absent)', () => {
  const program = espeak ?? ''

  it('speaks a sentence as WAV with a true header', async () => {
    const wav = await createEspeakSpeech({ program }).speak('Take two tablets with food.', 'en')
    expect(Buffer.from(wav).toString('latin1', 0, 4)).toBe('RIFF')
    const view = new DataView(wav.buffer, wav.byteOffset, wav.byteLength)
    expect(view.getUint32(4, true)).toBe(wav.length - 8)
    expect(view.getUint32(40, true)).toBe(wav.length - 44)
    expect(soundSeconds(wav)).toBeGreaterThan(1)
    expect(soundSeconds(wav)).toBeLessThan(5)
  })

  it('a longer sentence takes longer to say', async () => {
    const speech = createEspeakSpeech({ program })
    const [short, long] = await Promise.all([
      speech.speak('Two tablets.', 'en'),
      speech.speak('Two tablets in the morning, and one more before the evening meal.', 'en'),
    ])
    expect(soundSeconds(long)).toBeGreaterThan(soundSeconds(short) + 1)
  })

  it('C45, A16: nothing in double brackets is taken for phonemes', async () => {
    const speech = createEspeakSpeech({ program })
    const [said, ...written] = await Promise.all(
      ['Take five mg.', "Take [[f'aIv]] mg.", "Take [[[f'aIv]] mg."].map((text) =>
        speech.speak(text, 'en'),
      ),
    )
    for (const wav of written)
      expect(soundSeconds(wav)).toBeGreaterThan(soundSeconds(said ?? wav) + 0.3)
  })

  it('text that looks like options or markup is only spoken', async () => {
    const wav = await createEspeakSpeech({ program }).speak('-w /tmp/x --version <b>dose</b>', 'en')
    expect(soundSeconds(wav)).toBeGreaterThan(1)
  })
})

describe('the speech program', () => {
  it('gets the sentence on stdin, never as an argument', async () => {
    const program = programOf(
      'seen',
      `echo "$@" > ${folder}/arguments; cat > ${folder}/stdin; exit 3`,
    )
    await expect(createEspeakSpeech({ program }).speak('a private word', 'en')).rejects.toThrow(
      SpeechUnavailable,
    )
    expect(readFileSync(join(folder, 'arguments'), 'utf8')).not.toContain('private')
    expect(readFileSync(join(folder, 'stdin'), 'utf8')).toBe('a private word')
  })

  it('is run one at a time', async () => {
    const program = programOf(
      'busy',
      `mkdir ${folder}/running || touch ${folder}/overlap; cat > /dev/null; sleep 0.05; rmdir ${folder}/running; exit 1`,
    )
    const speech = createEspeakSpeech({ program })
    await Promise.allSettled(['a', 'b', 'c', 'd'].map((text) => speech.speak(text, 'en')))
    expect(readdirSync(folder)).not.toContain('overlap')
  })

  it('is killed at its limit of 2 s, and leaves nothing', async () => {
    const program = programOf('hangs', 'exec sleep 600')
    const clock = manualClock(0)
    const speaking = createEspeakSpeech({ program, clock }).speak('hello', 'en')
    const outcome = Promise.allSettled([speaking])
    await expect.poll(() => clock.pendingCount()).toBe(1)
    clock.advanceMs(SPEECH_LIMIT_MS)
    expect(await outcome).toMatchObject([
      { status: 'rejected', reason: { name: 'SpeechUnavailable' } },
    ])
    expect(clock.pendingCount()).toBe(0)
    expect(leftOver()).toEqual([])
  })

  it('that fails, writes no sound or is not there is SpeechUnavailable', async () => {
    const failing = [
      programOf('fails', 'exit 1'),
      programOf('silent', 'cat > /dev/null'),
      programOf('noise', 'for last; do :; done; cat > /dev/null; echo noise > "$last"'),
      join(folder, 'absent'),
    ]
    for (const program of failing)
      await expect(createEspeakSpeech({ program }).speak('hello', 'en')).rejects.toThrow(
        SpeechUnavailable,
      )
    expect(leftOver()).toEqual([])
  })

  it('is spared texts that are too long or too many at once', async () => {
    const program = programOf('slow', 'cat > /dev/null; sleep 0.01; exit 1')
    const speech = createEspeakSpeech({ program })
    await expect(speech.speak('a'.repeat(SPEECH_CHARS_MAX + 1), 'en')).rejects.toThrow('too long')
    const all = Array.from({ length: SPEECH_WAITING_MAX }, () => speech.speak('hello', 'en'))
    const results = Promise.allSettled(all)
    await expect(speech.speak('one more', 'en')).rejects.toThrow('waiting')
    await results
  })
})
