import { expect, test } from 'vitest'
import { languageAttributes } from './language-tag.ts'

test.each([
  ['de', 'de', 'ltr'],
  ['ar-EG', 'ar-EG', 'rtl'],
  ['he', 'he', 'rtl'],
  ['fa', 'fa', 'rtl'],
  ['ur', 'ur', 'rtl'],
  ['pa-Arab', 'pa-Arab', 'rtl'],
  ['az-Latn', 'az-Latn', 'ltr'],
  ['zh-Hant', 'zh-Hant', 'ltr'],
  ['und', '', 'auto'],
  [undefined, '', 'auto'],
])(
  'C37: an element with text in %s says its language and direction, and claims none that is unknown',
  (language, lang, dir) => {
    expect(languageAttributes(language)).toEqual({ lang, dir })
  },
)
