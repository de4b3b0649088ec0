import { describe, expect, it } from 'vitest'
import { MESSAGES } from '../wire/texts.ts'
import { englishIn, messagesIn } from './english-in.fixture.ts'
import { PAGE_WORDS, pageWords, requireWords, wordsFault } from './page-words.ts'

const english = PAGE_WORDS['en']
if (english === undefined) throw new Error('no English')
const { echo, ...others } = english

describe('C37: what the pages say, in each language', () => {
  it('every language of the texts has every message, with its places and its forms of number', () => {
    expect(Object.keys(PAGE_WORDS).toSorted()).toEqual(Object.keys(MESSAGES).toSorted())
    expect(requireWords).not.toThrow()
  })

  it('a message that is missing, loses a place, gains one, or lacks a form is found', () => {
    const { asOf, ...without } = echo
    for (const wrong of [
      others,
      { ...others, echo: without },
      { ...others, echo: { ...echo, asOf: 'As of now.' } },
      { ...others, echo: { ...echo, asOf: `${asOf} {date}` } },
      { ...others, echo: { ...echo, print: '' } },
      { ...others, echo: { ...echo, followed: { other: '{count}' } } },
      { ...others, echo: { ...echo, followed: 'Followed.' } },
      { ...others, echo, extra: {} },
    ])
      expect(wordsFault('en', wrong)).toMatch(/^words of en: /)
  })

  it.each(Object.keys(MESSAGES).filter((name) => name !== 'en'))(
    '%s: no message is English',
    (language) => {
      const texts = messagesIn(PAGE_WORDS[language] ?? {})
      expect(
        englishIn(
          texts.map((text) => text.replace(/\{\w+\}/g, '')),
          language,
        ),
      ).toEqual([])
    },
  )

  it('without a language, or without a file of it, English stands in', () => {
    for (const tag of [undefined, 'pt-BR', 'und'])
      expect(pageWords(tag, 'echo')).toMatchObject({ language: 'en', isRightToLeft: false })
    expect(pageWords('ar-EG', 'reads')).toMatchObject({ language: 'ar', isRightToLeft: true })
  })
})
