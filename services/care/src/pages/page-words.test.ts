import { describe, expect, it } from 'vitest'
import { MESSAGES } from '../wire/texts.ts'
import { PAGE_WORDS, pageWords, requireWords, wordsFault } from './page-words.ts'

const english = PAGE_WORDS['en']
if (english === undefined) throw new Error('no English')
const { echo, shared } = english

const sentences = ({ texts }: ReturnType<typeof pageWords>) =>
  Object.values(texts).filter((text) => typeof text === 'string' && /[.:]$/.test(text))

describe('C37: what the pages say, in each language', () => {
  it('every language of the texts has every message, with its places and its forms of number', () => {
    expect(Object.keys(PAGE_WORDS).toSorted()).toEqual(Object.keys(MESSAGES).toSorted())
    expect(requireWords).not.toThrow()
  })

  it('a message that is missing, loses a place, gains one, or lacks a form is found', () => {
    const { asOf, ...without } = echo
    for (const wrong of [
      { shared },
      { shared, echo: without },
      { shared, echo: { ...echo, asOf: 'As of now.' } },
      { shared, echo: { ...echo, asOf: `${asOf} {date}` } },
      { shared, echo: { ...echo, print: '' } },
      { shared, echo: { ...echo, followed: { other: '{count}' } } },
      { shared, echo: { ...echo, followed: 'Followed.' } },
      { shared: { ...shared, extra: 'x' }, echo },
    ])
      expect(wordsFault('en', wrong)).toMatch(/^words of en: /)
  })

  it('no sentence but English’s is English’s', () => {
    const own = new Set(sentences(pageWords('en')))
    for (const language of Object.keys(MESSAGES).filter((name) => name !== 'en'))
      expect(sentences(pageWords(language)).filter((text) => own.has(text))).toEqual([])
  })

  it('without a language, or without a file of it, English stands in', () => {
    for (const tag of [undefined, 'pt-BR', 'und'])
      expect(pageWords(tag)).toMatchObject({ language: 'en', isRightToLeft: false })
    expect(pageWords('ar-EG')).toMatchObject({ language: 'ar', isRightToLeft: true })
  })
})
