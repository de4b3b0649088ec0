// The spoken form of a record (C13).
import { DAY_MS } from '@tallystick/service-kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SpeechUnavailable } from '../../domain/speech.ts'
import { BOTH, type ClientSession, type McpFixture, startMcp } from '../mcp.fixture.ts'
import { listAll, readCode, readRecord, startMethods } from '../methods/methods.fixture.ts'

const spoken: string[] = []
const speech = {
  hasVoice: (language: string) => language !== 'it',
  async speak(text: string) {
    spoken.push(text)
    if (text.includes('unspeakable')) throw new SpeechUnavailable('no')
    return Buffer.from(`RIFF ${text}`)
  },
}

let fixture: McpFixture
let session: ClientSession
beforeAll(async () => {
  ;({ fixture, session } = await startMethods({ speech, language: 'en' }))
})
afterAll(() => fixture.close())

describe('C13: the audio blob', () => {
  it('care://<patient>/<domain>/<version>/audio is the text to be spoken as audio/wav', async () => {
    const { content } = await readRecord(session, 'care://ann/tea/3/audio')
    expect(content).toMatchObject({
      uri: 'care://ann/tea/3/audio',
      mimeType: 'audio/wav',
      _meta: { version: 3 },
    })
    expect(Buffer.from(content.blob ?? '', 'base64').toString()).toBe('RIFF No sugar.')
  })

  it('says its age past staleAfter; it is synthesised once per text', async () => {
    await readRecord(session, 'care://ann/weight/1/audio')
    await Promise.all([
      readRecord(session, 'care://ann/weight/1/audio'),
      readRecord(session, 'care://ann/weight/1/audio'),
    ])
    const texts = spoken.filter((text) => text.includes('71 kilograms'))
    expect(texts).toEqual([
      'Weighs 71 kilograms.\nPlease note: this was last changed today, by doctor Osei.',
    ])
    await fixture.clock.advanceMsSettled(2 * DAY_MS)
    session.token = fixture.token(BOTH)
    session = await fixture.open(BOTH)
    const { content } = await readRecord(session, 'care://ann/weight/1/audio')
    expect(Buffer.from(content.blob ?? '', 'base64').toString()).toContain('2 days ago')
  })

  it('if it cannot be spoken, the read is -32603 and the next one tries again', async () => {
    await fixture.write({ domain: 'odd', value: 'unspeakable' })
    expect(await readCode(session, 'resources/read', { uri: 'care://ann/odd/1/audio' })).toBe(
      -32603,
    )
    expect(await readCode(session, 'resources/read', { uri: 'care://ann/odd/1/audio' })).toBe(
      -32603,
    )
    expect(spoken.filter((text) => text === 'unspeakable')).toHaveLength(2)
    expect(fixture.events).toContainEqual({
      kind: 'speech-failed',
      error: expect.any(SpeechUnavailable),
    })
  })

  it('C45, A16: is what is seen, or is not spoken', async () => {
    await fixture.write({ domain: 'dose', value: 'Take 5\u200b0 mg.' })
    const { content } = await readRecord(session, 'care://ann/dose/1/audio')
    expect(Buffer.from(content.blob ?? '', 'base64').toString()).toBe('RIFF Take 50 milligrams.')
    await fixture.write({ domain: 'dose', value: 'Take \u202e05\u202c mg.' })
    expect(await readCode(session, 'resources/read', { uri: 'care://ann/dose/2/audio' })).toBe(
      -32002,
    )
    const older = await readRecord(session, 'care://ann/tea/1/audio')
    expect(Buffer.from(older.content.blob ?? '', 'base64').toString()).toMatch(
      /^RIFF Version 1 was replaced by version 3\. It is now “No sugar\.” /,
    )
  })

  it('C37: is in the voice of its language, in words', async () => {
    const heard: [string, string][] = []
    const several = await startMcp({
      speech: {
        hasVoice: () => true,
        speak: async (text, language) => {
          heard.push([text, language])
          return Buffer.from('RIFF')
        },
      },
    })
    await several.write({ domain: 'a', value: 'Nehmen Sie 1,5 Tabletten.', language: 'de-AT' })
    await several.write({ domain: 'b', value: 'خذ قرصين 500 ملغ', language: 'ar' })
    const by = await several.open(BOTH)
    for (const domain of ['a', 'b']) await readRecord(by, `care://ann/${domain}/1/audio`)
    expect(heard).toEqual([
      ['Nehmen Sie 1 Komma 5 Tabletten.', 'de-AT'],
      ['خذ قرصين 500 مليغرام', 'ar'],
    ])
    await several.close()
  })

  it.each([
    ['its language is unknown', { value: 'Take two.' }],
    ['no rules have its language', { value: 'Tome dois.', language: 'pt' }],
    ['no voice of its language is installed', { value: 'Due compresse.', language: 'it' }],
    ['it is in another script', { value: 'خذ قرصين 500 ملغ', language: 'en' }],
    ['its numbers are another language’s', { value: 'Nehmen Sie 1.5 Tabletten.', language: 'de' }],
    ['an abbreviation may mean several things', { value: 'Take it OD.', language: 'en' }],
    [
      'a stale record’s author cannot be said',
      { value: 'Take two.', language: 'en', authorLabel: 'د. سمير', staleAfter: '2020-01-01' },
    ],
  ])('C37: is not listed and reads -32002 where %s', async (_why, record) => {
    const several = await startMcp({ speech })
    await several.write({ domain: 'dose', ...record })
    await several.write({ domain: 'tea', value: 'No sugar.', language: 'en' })
    const by = await several.open(BOTH)
    const sounds = (await listAll(by)).filter(({ uri }) => uri.endsWith('/audio'))
    expect(sounds.map(({ uri }) => uri)).toEqual(['care://ann/tea/1/audio'])
    const uri = 'care://ann/dose/1/audio'
    expect(await readCode(by, 'resources/read', { uri })).toBe(-32002)
    await several.close()
  })

  it('C37: an older version of a language without an installed voice reads -32002 too', async () => {
    const several = await startMcp({ speech })
    for (const value of ['Due compresse.', 'Tre compresse.'])
      await several.write({ domain: 'dose', value, language: 'it' })
    const by = await several.open(BOTH)
    expect(await readCode(by, 'resources/read', { uri: 'care://ann/dose/1/audio' })).toBe(-32002)
    await several.close()
  })

  it('C37: an older version is not heard where what replaced it is in another language', async () => {
    const several = await startMcp({ speech })
    await several.write({ domain: 'dose', value: 'Take two.', language: 'en' })
    await several.write({ domain: 'dose', value: 'Nimm zwei.', language: 'de' })
    const by = await several.open(BOTH)
    expect(await readCode(by, 'resources/read', { uri: 'care://ann/dose/1/audio' })).toBe(-32002)
    expect((await readRecord(by, 'care://ann/dose/2/audio')).content.mimeType).toBe('audio/wav')
    await several.close()
  })

  it('without a speech program it is not listed, and reads -32002', async () => {
    const silent = await startMcp()
    await silent.write({ domain: 'tea' })
    const pending = await silent.open(BOTH)
    expect((await listAll(pending)).some(({ uri }) => uri.endsWith('/audio'))).toBe(false)
    const uri = 'care://ann/tea/1/audio'
    expect(await readCode(pending, 'resources/read', { uri })).toBe(-32002)
    expect(await readCode(pending, 'resources/subscribe', { uri })).toBe(-32002)
    const { resourceTemplates } = await pending.result('resources/templates/list')
    expect(JSON.stringify(resourceTemplates)).not.toContain('audio')
    await silent.close()
  })

  it('however its URI is spelled, it is one subscription', async () => {
    const before = fixture.endpoint.figures().subscriptions
    for (const uri of ['care://ann/tea/1/audio', 'care://ann/tea/v1/audio'])
      expect((await session.subscribe(uri)).result).toEqual({})
    expect(fixture.endpoint.figures().subscriptions).toBe(before + 1)
    await session.result('resources/unsubscribe', { uri: 'care://%61nn/tea/v1/audio' })
    expect(fixture.endpoint.figures().subscriptions).toBe(before)
  })

  it('does not exist for an internal record', async () => {
    expect(
      await readCode(session, 'resources/read', { uri: 'care-internal://ann/plan/1/audio' }),
    ).toBe(-32002)
  })
})
